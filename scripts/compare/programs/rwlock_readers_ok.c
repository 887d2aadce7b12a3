// Two read-write locks in opposite orders, all for reading: readers do not keep each other out, and
// glibc's locks prefer readers.
//
// expect: nothing
#include "threads.h"

static pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;

static void nest(pthread_rwlock_t *outer, pthread_rwlock_t *inner) {
	pthread_rwlock_rdlock(outer);
	pthread_rwlock_rdlock(inner);
	pthread_rwlock_unlock(inner);
	pthread_rwlock_unlock(outer);
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
