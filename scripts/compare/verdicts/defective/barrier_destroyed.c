// A barrier for three is destroyed while two threads wait at it: they are left there when the
// process ends.
//
// expect: misuse start
#include <pthread.h>

#include "fortune.h"

static pthread_barrier_t start;

static void *wait(void *unused) {
	pthread_barrier_wait(&start);
	return unused;
}

static void *destroy(void *unused) {
	pthread_barrier_destroy(&start);
	return unused;
}

int main(void) {
	void *(*routines[])(void *) = {wait, wait, destroy};
	pthread_barrier_init(&start, 0, 3);
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		later(i / 2);
		pthread_create(&t, 0, routines[i], 0);
		pthread_detach(t);
	}
	later(1);
	return 0;
}
