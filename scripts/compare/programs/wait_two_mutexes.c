// Two threads wait on one condition with different mutexes.
//
// expect: misuse
#include "threads.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void await(pthread_mutex_t *lock) {
	pthread_mutex_lock(lock);
	while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		pthread_cond_wait(&changed, lock);
	pthread_mutex_unlock(lock);
}

static void *first(void *unused) {
	await(&one);
	return unused;
}

static void *second(void *unused) {
	later(1);
	await(&two);
	return unused;
}

static void *waker(void *unused) {
	later(2);
	pthread_mutex_lock(&one);
	pthread_mutex_lock(&two);
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&two);
	pthread_mutex_unlock(&one);
	return unused;
}

int main(void) {
	RUN(first, second, waker);
	return 0;
}
