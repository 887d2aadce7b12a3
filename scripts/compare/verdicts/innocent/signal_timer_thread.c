// A function that a timer calls in a thread of its own (SIGEV_THREAD) does the second half; the timer was started only after the first.
// watch: data
#include "halves.h"
#include <semaphore.h>
#include <signal.h>

static sem_t done;

static void rings(union sigval v) {
	late();
	sem_post(&done);
}

int main(void) {
	sem_init(&done, 0, 0);
	struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = rings};
	timer_t timer;
	need(!timer_create(CLOCK_MONOTONIC, &how, &timer), "timer_create");
	early();
	struct itimerspec soon = {.it_value = {0, 10000000}};
	timer_settime(timer, 0, &soon, NULL);
	while (sem_wait(&done))
		;
	timer_delete(timer);
	return data != 42;
}
