// What a timer's handler counts, in a thread of its own (SIGEV_THREAD), is set back once the timer is stopped and deleted: neither waits for a handler that has begun.
//
// expect: race beats
#include <csignal>
#include <ctime>

#include "fortune.h"

class Meter {
	long beats = 0;
	timer_t timer;

	static void rings(sigval v) {
		auto *m = static_cast<Meter *>(v.sival_ptr);
		chance();
		m->beats++;
	}

public:
	Meter() {
		sigevent how{};
		how.sigev_notify = SIGEV_THREAD;
		how.sigev_notify_function = rings;
		how.sigev_value.sival_ptr = this;
		timer_create(CLOCK_MONOTONIC, &how, &timer);
	}
	void start() {
		itimerspec soon{{0, 0}, {0, 10000000}};
		timer_settime(timer, 0, &soon, nullptr);
	}
	long stop() {
		itimerspec never{};
		timer_settime(timer, 0, &never, nullptr);
		timer_delete(timer);
		long counted = beats;
		beats = 0;
		return counted;
	}
};

int main() {
	auto *m = new Meter;
	m->start();
	later(2);
	long counted = m->stop();
	delete m;
	return counted > 1;
}
