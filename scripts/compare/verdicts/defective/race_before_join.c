// main reads the result of a thread after a pause, and joins it only then.
//
// expect: race result
// watch: result
#include <pthread.h>

#include "fortune.h"

static int result;

static void *compute(void *unused) {
	chance();
	result = 42;
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, compute, 0);
	later(1);
	int got = result;
	pthread_join(t, 0);
	return got != 42;
}
