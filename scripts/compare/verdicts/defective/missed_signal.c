// A wait without a predicate: if the signal is sent before the wait begins, nobody ever wakes the
// waiter. In the run it was sent after.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;

static void *wait(void *unused) {
	chance();
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&started, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *start(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&started);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, wait, 0);
	pthread_create(&u, 0, start, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
