// Three threads meet at a barrier; one of them holds a read-write lock for reading there, which is
// enough to keep out the one that writes before it gets there.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_rwlock_t mesh = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t step;
static int nodes;

static void *refine(void *unused) {
	chance();
	pthread_rwlock_wrlock(&mesh);
	nodes++;
	pthread_rwlock_unlock(&mesh);
	pthread_barrier_wait(&step);
	return unused;
}

static void *solve(void *unused) {
	later(1);
	pthread_rwlock_rdlock(&mesh);
	pthread_barrier_wait(&step);
	pthread_rwlock_unlock(&mesh);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_barrier_init(&step, 0, 3);
	pthread_create(&t, 0, refine, 0);
	pthread_create(&u, 0, solve, 0);
	pthread_barrier_wait(&step);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return nodes != 1;
}
