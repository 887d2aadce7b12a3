// The predicate is an atomic flag that is set, and signalled, without the mutex: between the
// waiter's look at it and its sleep both can happen, and the signal is lost.
//
// expect: deadlock
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex lock;
static std::condition_variable changed;
static std::atomic<bool> open;

int main() {
	std::thread waiter([] {
		std::unique_lock held(lock);
		while (!open) {
			chance();
			changed.wait(held);
		}
	});
	later(1);
	open = true;
	changed.notify_one();
	waiter.join();
}
