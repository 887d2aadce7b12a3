// A static counter is changed through pointers that each thread is given, by one under a lock and
// by the other without.
//
// expect: race counter
// watch: counter
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

__attribute__((noinline)) static void add(long *to, long n) {
	*to += n;
}

static void *guarded(void *to) {
	chance();
	pthread_mutex_lock(&lock);
	add(to, 3);
	pthread_mutex_unlock(&lock);
	return to;
}

static void *bare(void *to) {
	later(1);
	add(to, 4);
	return to;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, guarded, &counter);
	pthread_create(&u, 0, bare, &counter);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return counter != 7;
}
