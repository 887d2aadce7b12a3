// Two threads compute in phases that a barrier keeps apart. After the last phase
// the second thread reads its neighbour's cell without waiting for the barrier
// again, while the neighbour still writes it.
//
// expect: race left
#include "threads.h"

static pthread_barrier_t phase;
static int left, right, sum;

static void *compute_left(void *unused) {
	left = 1;
	pthread_barrier_wait(&phase);
	int seen = right;
	pthread_barrier_wait(&phase);
	left = seen + 1;
	return unused;
}

static void *compute_right(void *unused) {
	right = 2;
	pthread_barrier_wait(&phase);
	int seen = left;
	pthread_barrier_wait(&phase);
	later(1);
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
