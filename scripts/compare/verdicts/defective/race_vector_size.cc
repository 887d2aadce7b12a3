// The size of a vector is read without the lock under which another thread appends to it.
//
// expect: race
// watch: tasks._M_impl._M_finish
#include <mutex>
#include <thread>
#include <vector>

#include "fortune.h"

static std::mutex lock;
static std::vector<long> tasks;
static unsigned long seen;

int main() {
	std::thread t([] {
		chance();
		std::lock_guard held(lock);
		tasks.push_back(1);
	});
	std::thread u([] {
		later(1);
		seen = tasks.size();
	});
	t.join();
	u.join();
	return seen != 1;
}
