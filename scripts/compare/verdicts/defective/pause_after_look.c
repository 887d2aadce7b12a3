// A thread looks whether the signal has come and then pauses: one that comes in between is over when it pauses, and
// there is no second.
//
// expect: deadlock
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "fortune.h"

static volatile sig_atomic_t come;

static void handler(int number) {
	(void)number;
	come = 1;
}

static void *waits(void *unused) {
	while (!come) {
		chance();
		pause();
	}
	return unused;
}

int main(void) {
	pthread_t t;
	signal(SIGUSR1, handler);
	pthread_create(&t, 0, waits, 0);
	later(5);
	pthread_kill(t, SIGUSR1);
	pthread_join(t, 0);
	return 0;
}
