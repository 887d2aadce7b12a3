// Opposite orders, and before them each thread waits by a condition until both have begun: the
// meeting orders their beginnings, not what they do after it.
//
// expect: deadlock salt pepper
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::mutex begin_lock, salt, pepper;
static std::condition_variable begun;
static int present;

static void meet() {
	std::unique_lock held(begin_lock);
	present++;
	begun.notify_all();
	begun.wait(held, [] { return present == 2; });
}

int main() {
	std::thread t([] {
		meet();
		std::lock_guard outer(salt);
		chance();
		std::lock_guard inner(pepper);
	});
	std::thread u([] {
		meet();
		later(1);
		std::lock_guard outer(pepper);
		chance();
		std::lock_guard inner(salt);
	});
	t.join();
	u.join();
}
