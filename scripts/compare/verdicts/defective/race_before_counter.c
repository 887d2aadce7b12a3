// Each thread writes the last visitor without a lock, the first before and the second after it
// counts under a lock. Both sections access the count, but its value decides nothing, so they may
// come in the other order.
//
// expect: race last
// watch: last
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int visits, last;

static void count(void) {
	pthread_mutex_lock(&lock);
	visits++;
	pthread_mutex_unlock(&lock);
}

static void *first(void *unused) {
	chance();
	last = 1;
	count();
	return unused;
}

static void *second(void *unused) {
	later(1);
	count();
	last = 2;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	printf("%d\n", last);
	return visits != 2;
}
