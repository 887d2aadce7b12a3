// Two threads wait on one condition at the same time, each with a mutex of its own, by waits with a
// time limit.
//
// expect: misuse changed
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t north = PTHREAD_MUTEX_INITIALIZER, south = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *wait(void *mutex) {
	struct timespec limit;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += 200000000;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	pthread_mutex_lock(mutex);
	pthread_cond_timedwait(&changed, mutex, &limit);
	pthread_mutex_unlock(mutex);
	return 0;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, wait, &north);
	pthread_create(&u, 0, wait, &south);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
