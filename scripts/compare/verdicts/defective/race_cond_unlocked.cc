// The predicate of a wait is written under the lock, but main polls it without the lock first.
//
// expect: race closed
// watch: closed
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex lock;
static std::condition_variable changed;
static bool closed;

int main() {
	std::thread t([] {
		later(1);
		std::lock_guard held(lock);
		closed = true;
		changed.notify_all();
	});
	if (!closed) {
		std::unique_lock held(lock);
		changed.wait(held, [] { return closed; });
	}
	t.join();
}
