// Two threads join the same third one: the second join is of a thread that is no more.
//
// expect: misuse
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_t worker;

static void *works(void *unused) {
	later(2);
	return unused;
}

static void *collects(void *unused) {
	chance();
	pthread_join(worker, 0);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&worker, 0, works, 0);
	pthread_create(&t, 0, collects, 0);
	later(5);
	pthread_join(worker, 0);
	pthread_join(t, 0);
	return 0;
}
