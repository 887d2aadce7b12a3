// Opposite orders, but the second thread waits on a condition until the first has released its
// locks: they can never meet.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	later(1);
	nest(&a, &b);
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *back(void *unused) {
	pthread_mutex_lock(&lock);
	while (!done)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	nest(&b, &a);
	return unused;
}

int main(void) {
	RUN(forth, back);
	return 0;
}
