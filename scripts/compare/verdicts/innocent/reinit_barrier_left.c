// A barrier is initialised again, for three instead of two threads, without being destroyed, but the threads that were at it have all left it and are joined.
#include "turns.h"

static pthread_barrier_t phase;

static void *arrives(void *unused) {
	pthread_barrier_wait(&phase);
	return unused;
}

static void meet(unsigned threads) {
	pthread_t others[3];
	pthread_barrier_init(&phase, NULL, threads);
	for (unsigned i = 1; i < threads; i++)
		others[i] = start(arrives, NULL);
	pthread_barrier_wait(&phase);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}

int main(void) {
	meet(2);
	meet(3);
	return 0;
}
