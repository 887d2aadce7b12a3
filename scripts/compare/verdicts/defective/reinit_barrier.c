// A barrier is initialised again, for three instead of two, while a thread waits at it: that thread
// is counted no more, and is left behind when the process ends.
//
// expect: misuse phase
#include <pthread.h>

#include "fortune.h"

static pthread_barrier_t phase;

static void *arrive(void *unused) {
	pthread_barrier_wait(&phase);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_barrier_init(&phase, 0, 2);
	pthread_create(&t, 0, arrive, 0);
	pthread_detach(t);
	later(1);
	pthread_barrier_init(&phase, 0, 3);
	later(1);
	return 0;
}
