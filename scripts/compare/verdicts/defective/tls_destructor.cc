// main joins a thread while it holds the lock that the destructor of a thread_local object takes
// when the thread ends: in the run the thread had ended before.
//
// expect: deadlock
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex totals;
static int total;

struct Counter {
	int n = 0;
	~Counter() {
		chance();
		std::lock_guard held(totals);
		total += n;
	}
};

static thread_local Counter counter;

int main() {
	std::thread t([] { counter.n++; });
	later(1);
	std::unique_lock held(totals);
	t.join();
	return total != 1;
}
