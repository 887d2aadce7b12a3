// main asks a future for its result while it holds the lock that the task takes at its end: in the
// run the task was through when main took the lock.
//
// expect: deadlock
#include <future>
#include <mutex>

#include "fortune.h"

static std::mutex cache_lock;
static int cached;

static int compute() {
	chance();
	std::lock_guard held(cache_lock);
	return cached = 5;
}

int main() {
	std::future<int> result = std::async(std::launch::async, compute);
	later(1);
	std::lock_guard held(cache_lock);
	return result.get() != cached;
}
