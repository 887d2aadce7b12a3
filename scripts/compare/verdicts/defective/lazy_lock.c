// Whoever comes first makes the lock, without a lock: two threads may both find it not made, and one makes it anew while the other holds it.
//
// expect: race made
// watch: made
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock;
static int made;
static long uses;

static pthread_mutex_t *the_lock(void) {
	if (!made) {
		chance();
		pthread_mutex_init(&lock, 0);
		made = 1;
	}
	return &lock;
}

static void *uses_it(void *p) {
	later((int)(long)p);
	pthread_mutex_lock(the_lock());
	uses++;
	pthread_mutex_unlock(the_lock());
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, uses_it, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return uses != 2;
}
