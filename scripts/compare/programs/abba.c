// Two threads acquire the same two locks in opposite orders, at different times.
//
// expect: deadlock
// timed
#include "threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	nest(&a, &b);
	return unused;
}

static void *back(void *unused) {
	later(1);
	nest(&b, &a);
	return unused;
}

int main(void) {
	RUN(forth, back);
	return 0;
}
