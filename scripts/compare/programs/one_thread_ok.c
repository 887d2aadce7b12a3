// One thread alone nests two locks in both orders; another one takes only one of
// them. One thread does not wait for itself.
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

static void *both(void *unused) {
	nest(&a, &b);
	nest(&b, &a);
	return unused;
}

static void *one(void *unused) {
	later(1);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	return unused;
}

int main(void) {
	RUN(both, one);
	return 0;
}
