// What a timer's handler counts, in a thread of its own (SIGEV_THREAD), is set back when the timer is deleted: both do so under a lock, and the object lives on.
#include "turns.h"
#include <csignal>
#include <ctime>
#include <mutex>

struct Meter {
	std::mutex lock;
	long beats = 0;
};

static Meter meter;

static void rings(sigval) {
	std::lock_guard<std::mutex> l(meter.lock);
	meter.beats++;
}

int main() {
	timer_t timer;
	sigevent how{};
	how.sigev_notify = SIGEV_THREAD;
	how.sigev_notify_function = rings;
	need(!timer_create(CLOCK_MONOTONIC, &how, &timer), "timer_create");
	itimerspec soon{{0, 0}, {0, 10000000}};
	timer_settime(timer, 0, &soon, nullptr);
	rest(60);
	timer_delete(timer);
	std::lock_guard<std::mutex> l(meter.lock);
	meter.beats = 0;
}
