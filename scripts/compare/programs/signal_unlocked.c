// The flag that a waiter checks is set, and the condition signalled, without the waiter's lock: a
// signal between the look and the wait is lost.
//
// expect: race ready
// expect: misuse
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int ready;

static void *signaller(void *unused) {
	later(1);
	ready = 1;
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
