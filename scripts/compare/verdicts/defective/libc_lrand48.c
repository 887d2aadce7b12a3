// Two threads draw numbers by lrand48, which keeps its state for all threads together and takes no lock.
//
// expect: race
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static long sums[2];

static void *draws(void *which) {
	long i = (long)which;
	later(5 * (int)i);
	for (int n = 0; n < 5; n++) {
		sums[i] += lrand48() % 6;
		chance();
	}
	return 0;
}

int main(void) {
	pthread_t t[2];
	srand48(7);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, draws, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return sums[0] + sums[1] > 50;
}
