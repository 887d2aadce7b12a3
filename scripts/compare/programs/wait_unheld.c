// A thread waits on a condition without holding the mutex.
//
// expect: misuse
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *waiter(void *unused) {
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1;
	pthread_cond_timedwait(&changed, &lock, &end);
	return unused;
}

static void *waker(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	RUN(waiter, waker);
	return 0;
}
