// Locks are nested in opposite orders by two threads, but one does it before the barrier and the other behind it.
// watch: data
#include "halves.h"

static pthread_barrier_t middle;

static void *first(void *unused) {
	early();
	pthread_barrier_wait(&middle);
	return unused;
}

static void *second(void *unused) {
	pthread_barrier_wait(&middle);
	late();
	return unused;
}

int main(void) {
	pthread_barrier_init(&middle, NULL, 2);
	both(first, second);
	pthread_barrier_destroy(&middle);
	return data != 42;
}
