// Two threads compute in phases that a barrier keeps apart, but one of them corrects its half after
// the barrier, when the other may read it.
//
// expect: race left
// watch: left, right
#include <pthread.h>

#include "fortune.h"

static pthread_barrier_t phase;
static int left, right, sum;

static void *one(void *unused) {
	left = 1;
	pthread_barrier_wait(&phase);
	left += 2;
	return unused;
}

static void *two(void *unused) {
	right = 4;
	pthread_barrier_wait(&phase);
	later(1);
	sum = left + right;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_barrier_init(&phase, 0, 2);
	pthread_create(&t, 0, one, 0);
	pthread_create(&u, 0, two, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return sum != 7;
}
