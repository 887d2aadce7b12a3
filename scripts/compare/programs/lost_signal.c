// A thread waits on a condition without checking whether what it waits for has happened; it was
// signalled before, so it waits for ever.
//
// expect: hang
// expect: deadlock
// expect: misuse
// run: --on-hang=kill
// hangs
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *signaller(void *unused) {
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *waiter(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	RUN(signaller, waiter);
	return 0;
}
