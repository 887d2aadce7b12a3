// The state of a timer is freed under no lock, but main first waits until the handler, in its thread (SIGEV_THREAD), has posted that it is through, and the timer rings once.
#include "turns.h"
#include <semaphore.h>
#include <signal.h>

struct clock {
	long ticks;
};

static sem_t through;

static void rings(union sigval v) {
	struct clock *c = v.sival_ptr;
	c->ticks++;
	sem_post(&through);
}

int main(void) {
	struct clock *c = kept(calloc(1, sizeof *c));
	sem_init(&through, 0, 0);
	struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = rings, .sigev_value.sival_ptr = c};
	timer_t timer;
	need(!timer_create(CLOCK_MONOTONIC, &how, &timer), "timer_create");
	struct itimerspec soon = {.it_value = {0, 10000000}};
	timer_settime(timer, 0, &soon, NULL);
	rest(60);
	while (sem_wait(&through))
		;
	timer_delete(timer);
	free(c);
	return 0;
}
