// Producers and consumers of a buffer for one item wait on the same condition and are woken by a signal: it may wake one of the same kind, and all sleep.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;
static long item, sum;

static void *produce(void *p) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		while (full)
			pthread_cond_wait(&changed, &lock);
		item = (long)p;
		full = 1;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
		later(1);
	}
	return 0;
}

static void *consume(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		while (!full)
			pthread_cond_wait(&changed, &lock);
		sum += item;
		full = 0;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void) {
	pthread_t t[4];
	pthread_create(&t[0], 0, consume, 0);
	pthread_create(&t[1], 0, produce, (void *)1);
	nanoseconds(20000000);
	pthread_create(&t[2], 0, consume, 0);
	pthread_create(&t[3], 0, produce, (void *)10);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return sum != 33;
}
