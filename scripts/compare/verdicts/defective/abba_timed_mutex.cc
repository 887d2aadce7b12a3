// Opposite orders of two timed mutexes, whose waits have limits but are begun again while the outer
// lock is kept: both threads try for ever.
//
// expect: deadlock drill saw
#include <chrono>
#include <mutex>
#include <thread>

#include "fortune.h"

static std::timed_mutex drill, saw;
static int holes;

static void take(std::timed_mutex &first, std::timed_mutex &second) {
	while (!first.try_lock_for(std::chrono::milliseconds(500)))
		;
	chance();
	while (!second.try_lock_for(std::chrono::milliseconds(500)))
		;
	holes++;
	second.unlock();
	first.unlock();
}

int main() {
	std::thread t([] { take(drill, saw); });
	std::thread u([] {
		later(1);
		take(saw, drill);
	});
	t.join();
	u.join();
	return holes != 2;
}
