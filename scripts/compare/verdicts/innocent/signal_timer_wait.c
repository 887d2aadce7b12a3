// A timer is started after the first half, and its signal ends the wait before the second: timer_settime comes before sigwait returns.
// watch: data
#include "halves.h"
#include <signal.h>

static sigset_t set;

static void *second(void *unused) {
	int n;
	sigwait(&set, &n);
	late();
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	timer_t timer;
	need(!timer_create(CLOCK_MONOTONIC, &how, &timer), "timer_create");
	pthread_t t = start(second, NULL);
	early();
	struct itimerspec soon = {.it_value = {0, 10000000}};
	timer_settime(timer, 0, &soon, NULL);
	pthread_join(t, NULL);
	timer_delete(timer);
	return data != 42;
}
