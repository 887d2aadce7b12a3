// Opposite orders; the second thread gives up the inner lock after five seconds, and backs off: so long both
// may stand still.
//
// expect: deadlock
#include "threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *forth(void *unused) {
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	return unused;
}

static void *back(void *unused) {
	later(1);
	pthread_mutex_lock(&b);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	if (!pthread_mutex_timedlock(&a, &until))
		pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	return unused;
}

int main(void) {
	RUN(forth, back);
	return 0;
}
