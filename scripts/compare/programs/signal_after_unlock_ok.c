// The flag is set under the lock; the signal comes after the unlock, which POSIX allows
// and which saves the waiter from waking into a taken lock.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *signaller(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&changed);
	return unused;
}

static void *waiter(void *unused) {
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	RUN(signaller, waiter);
	return 0;
}
