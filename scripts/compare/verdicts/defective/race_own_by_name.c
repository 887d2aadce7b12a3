// main counts by the name of a static structure what its thread counts through the pointer that it was given, and only
// the thread takes the lock.
//
// expect: race totals.sum
// watch: totals.sum
#include <pthread.h>

#include "fortune.h"

struct totals {
	pthread_mutex_t lock;
	long sum;
};

static struct totals totals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *adds(void *given) {
	struct totals *t = given;
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&t->lock);
		t->sum += i;
		pthread_mutex_unlock(&t->lock);
	}
	return 0;
}

int main(void) {
	pthread_t thread;
	pthread_create(&thread, 0, adds, &totals);
	later(3);
	totals.sum++;
	pthread_join(thread, 0);
	return totals.sum != 1226;
}
