// Two threads compute in phases that a barrier keeps apart.
//
// expect: nothing
#include "threads.h"

static pthread_barrier_t phase;
static int left, right, sum;

static void *compute_left(void *unused) {
	left = 1;
	pthread_barrier_wait(&phase);
	int seen = right;
	pthread_barrier_wait(&phase);
	left = seen + 1;
	pthread_barrier_wait(&phase);
	return unused;
}

static void *compute_right(void *unused) {
	right = 2;
	pthread_barrier_wait(&phase);
	int seen = left;
	pthread_barrier_wait(&phase);
	pthread_barrier_wait(&phase);
	sum = seen + left;
	return unused;
}

int main(void) {
	if (pthread_barrier_init(&phase, NULL, 2))
		return 1;
	RUN(compute_left, compute_right);
	pthread_barrier_destroy(&phase);
	return sum == 0;
}
