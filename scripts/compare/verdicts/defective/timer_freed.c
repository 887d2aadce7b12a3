// The state of a timer is freed after timer_delete, which does not wait for a handler that has begun in its own thread (SIGEV_THREAD).
//
// expect: race ticks
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "fortune.h"

struct clock {
	long ticks;
};

static void rings(union sigval v) {
	struct clock *c = v.sival_ptr;
	chance();
	c->ticks++;
}

int main(void) {
	struct clock *c = calloc(1, sizeof *c);
	struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = rings, .sigev_value.sival_ptr = c};
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &how, &timer))
		return 1;
	struct itimerspec soon = {.it_value = {0, 10000000}};
	timer_settime(timer, 0, &soon, 0);
	later(2);
	timer_delete(timer);
	free(c);
	return 0;
}
