// A cycle of three locks and three threads, each at a different time.
//
// expect: deadlock
#include "threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *first(void *unused) {
	nest(&a, &b);
	return unused;
}

static void *second(void *unused) {
	later(1);
	nest(&b, &c);
	return unused;
}

static void *third(void *unused) {
	later(2);
	nest(&c, &a);
	return unused;
}

int main(void) {
	RUN(first, second, third);
	return 0;
}
