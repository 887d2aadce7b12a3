// Two threads acquire two locks in opposite orders, at the same time: they hang.
//
// expect: deadlock
// expect: hang
// run: --on-hang=kill
// hangs
#include "threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	later(1);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	nest(&a, &b);
	return unused;
}

static void *back(void *unused) {
	nest(&b, &a);
	return unused;
}

int main(void) {
	RUN(forth, back);
	return 0;
}
