// One thread swaps the buffers and writes the round under no lock while the others use both, but it does so between two barriers that all pass.
// watch: shared
// build: -O2
#include "turns.h"

static pthread_barrier_t before, after;
static long buffers[2][3];
static long *current = buffers[0], *next = buffers[1];
static int round_number;

static void *cell(void *p) {
	long i = (long)p;
	for (int r = 0; r < 5; r++) {
		next[i] = current[(i + 1) % 3] + round_number;
		if (pthread_barrier_wait(&before) == PTHREAD_BARRIER_SERIAL_THREAD) {
			long *t = current;
			current = next;
			next = t;
			round_number++;
		}
		pthread_barrier_wait(&after);
	}
	return NULL;
}

int main(void) {
	pthread_barrier_init(&before, NULL, 3);
	pthread_barrier_init(&after, NULL, 3);
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		t[i] = start(cell, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	need(round_number == 5 && current[0] == 10, "round");
	return 0;
}
