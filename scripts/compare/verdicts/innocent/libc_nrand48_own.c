// Two threads draw numbers, one by random, which takes a lock, and both by nrand48 from a state of their own.
#include "turns.h"

static long sums[2];

static void *draws(void *which) {
	long i = (long)which;
	unsigned short state[3] = {1, 2, (unsigned short)i};
	rest(200 * i);
	for (int n = 0; n < 5; n++)
		sums[i] += nrand48(state) % 6 + (i ? random() % 2 : 0);
	return NULL;
}

int main(void) {
	pthread_t s = start(draws, (void *)0), t = start(draws, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return sums[0] + sums[1] > 60;
}
