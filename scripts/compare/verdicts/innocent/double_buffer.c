// Two threads write and read the same pair of buffers under no lock, but a barrier after each step swaps which of them is whose.
// watch: shared
#include "turns.h"

static pthread_barrier_t step;
static long buffers[2], sum;

static void *fills(void *unused) {
	for (int i = 0; i < 6; i++) {
		buffers[i % 2] = i;
		pthread_barrier_wait(&step);
	}
	return unused;
}

static void *shows(void *unused) {
	for (int i = 0; i < 6; i++) {
		sum += buffers[!(i % 2)];
		pthread_barrier_wait(&step);
	}
	return unused;
}

int main(void) {
	pthread_barrier_init(&step, NULL, 2);
	both(fills, shows);
	pthread_barrier_destroy(&step);
	return sum != 10;
}
