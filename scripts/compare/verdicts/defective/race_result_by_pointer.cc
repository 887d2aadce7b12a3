// A static vector's owner reads its size by name while a worker may still be adding to it through a reference: the
// atomic counter that it looks at is raised before the last element is added.
//
// expect: race results._M_impl._M_finish
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "fortune.h"

static std::vector<int> results;
static std::atomic<int> begun{0};

static void collect(std::vector<int> &into) {
	into.reserve(16);
	for (int i = 0; i < 4; i++) {
		begun.fetch_add(1);
		into.push_back(i);
	}
}

int main() {
	std::thread worker(collect, std::ref(results));
	later(4);
	unsigned seen = 0;
	if (begun.load() == 4)
		seen = results.size();
	worker.join();
	return seen > 4;
}
