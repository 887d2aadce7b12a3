// Two threads wait at one place on one condition, each for a flag of its own, and each flag is told by
// a signal, which may wake the other thread: that one sleeps again, and nobody tells the right one.
// Which flags the threads look at is observed.
//
// expect: deadlock
// watch: shared
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready[2];

static void *wait(void *which) {
	int i = (int)(long)which;
	later(i);
	pthread_mutex_lock(&lock);
	while (!ready[i])
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, wait, (void *)i);
	later(2);
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		ready[i] = 1;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
		later(1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
