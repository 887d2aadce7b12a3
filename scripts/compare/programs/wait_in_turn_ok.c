// A condition is waited on with one mutex, and with another mutex when no thread waits any more:
// POSIX binds the two only while somebody waits.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int step;

static void await(pthread_mutex_t *lock, int until) {
	pthread_mutex_lock(lock);
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < until)
		pthread_cond_wait(&changed, lock);
	pthread_mutex_unlock(lock);
}

static void signal_under(pthread_mutex_t *lock) {
	later(1);
	pthread_mutex_lock(lock);
	__atomic_fetch_add(&step, 1, __ATOMIC_ACQ_REL);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(lock);
}

static void *waiter(void *unused) {
	await(&one, 1);
	await(&two, 2);
	return unused;
}

static void *waker(void *unused) {
	signal_under(&one);
	signal_under(&two);
	return unused;
}

int main(void) {
	RUN(waiter, waker);
	return 0;
}
