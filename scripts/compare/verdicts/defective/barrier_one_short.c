// The serial thread of the barrier swaps the buffers behind it, with no second barrier: the others may begin the next round with the old ones.
//
// expect: race
// watch: front
#include <pthread.h>

#include "fortune.h"

static pthread_barrier_t round_end;
static long buffers[2][2];
static int front;

static void *cell(void *p) {
	long i = (long)p;
	for (int r = 0; r < 3; r++) {
		buffers[!front][i] = buffers[front][!i] + 1;
		if (pthread_barrier_wait(&round_end) == PTHREAD_BARRIER_SERIAL_THREAD)
			front = !front;
		else
			later(1);
		chance();
	}
	return 0;
}

int main(void) {
	pthread_t t[2];
	pthread_barrier_init(&round_end, 0, 2);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, cell, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
