// A total is written under no lock, then the log's lock is taken and given back; the other thread
// writes the total under the log's lock. Happens-before hides it; if the other's section comes
// first, nothing orders the two writes.
//
// expect: race total
// watch: total
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *first(void *unused) {
	chance();
	total = 1;
	pthread_mutex_lock(&log_lock);
	pthread_mutex_unlock(&log_lock);
	return unused;
}

static void *second(void *unused) {
	later(1);
	pthread_mutex_lock(&log_lock);
	total = 2;
	pthread_mutex_unlock(&log_lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	printf("%d\n", total);
	return 0;
}
