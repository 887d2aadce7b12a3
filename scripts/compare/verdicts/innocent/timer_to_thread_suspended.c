// The second half waits in sigsuspend for a signal to its thread, which a timer with SIGEV_THREAD_ID sends; the first half sets the timer when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <signal.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <stdatomic.h>

static timer_t timer;
static pthread_barrier_t made;
static volatile sig_atomic_t came;
static void on(int s) { came = s; }

static void *first(void *unused) {
	pthread_barrier_wait(&made);
	early();
	struct itimerspec i = {{0, 0}, {0, 1000000}};
	timer_settime(timer, 0, &i, NULL);
	return unused;
}

static void *second(void *unused) {
	sigset_t old, s;
	sigemptyset(&s);
	sigaddset(&s, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &s, &old);
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	e._sigev_un._tid = gettid();
	timer_create(CLOCK_MONOTONIC, &e, &timer);
	pthread_barrier_wait(&made);
	while (!came)
		sigsuspend(&old);
	late();
	return unused;
}

int main(void) {
	struct sigaction a = {.sa_handler = on};
	sigaction(SIGRTMIN, &a, NULL);
	pthread_barrier_init(&made, NULL, 2);
	both(first, second);
	return 0;
}
