// One thread waits at a barrier while it holds the lock that the other needs before it gets there:
// in the run the other had its section behind it.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t grid = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t phase;
static int cells;

static void *left(void *unused) {
	chance();
	pthread_mutex_lock(&grid);
	cells++;
	pthread_mutex_unlock(&grid);
	later(1);
	pthread_barrier_wait(&phase);
	return unused;
}

static void *right(void *unused) {
	later(1);
	pthread_mutex_lock(&grid);
	cells++;
	pthread_barrier_wait(&phase);
	pthread_mutex_unlock(&grid);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_barrier_init(&phase, 0, 2);
	pthread_create(&t, 0, left, 0);
	pthread_create(&u, 0, right, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return cells != 2;
}
