// Opposite orders, but the first thread is joined before the second is created: they can never
// meet. (The false alarm that the manual page of bcc's deadlock warns of.)
//
// expect: nothing
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
	nest(&b, &a);
	return unused;
}

int main(void) {
	RUN(forth);
	RUN(back);
	return 0;
}
