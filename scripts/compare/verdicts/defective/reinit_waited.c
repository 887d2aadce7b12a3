// A condition is initialised again while a thread waits on it: the condition forgets the waiter,
// whom only its time limit, after which it looks again, saves.
//
// expect: misuse changed
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int ready;

static void *wait(void *unused) {
	struct timespec limit;
	pthread_mutex_lock(&lock);
	while (!ready) {
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec++;
		pthread_cond_timedwait(&changed, &lock, &limit);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_cond_init(&changed, 0);
	pthread_create(&t, 0, wait, 0);
	later(1);
	pthread_mutex_lock(&lock);
	pthread_cond_init(&changed, 0);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, 0);
	return 0;
}
