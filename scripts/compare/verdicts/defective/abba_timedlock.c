// Opposite orders, one of the four acquisitions with a time limit of an hour, after which the
// thread would give up and exit with an error: the deadlock lasts an hour and then the program
// fails.
//
// expect: deadlock tea milk
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static pthread_mutex_t tea = PTHREAD_MUTEX_INITIALIZER, milk = PTHREAD_MUTEX_INITIALIZER;

static void *english(void *unused) {
	struct timespec limit;
	pthread_mutex_lock(&milk);
	chance();
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 3600;
	if (pthread_mutex_timedlock(&tea, &limit))
		exit(1);
	pthread_mutex_unlock(&tea);
	pthread_mutex_unlock(&milk);
	return unused;
}

static void *scottish(void *unused) {
	later(1);
	pthread_mutex_lock(&tea);
	chance();
	pthread_mutex_lock(&milk);
	pthread_mutex_unlock(&milk);
	pthread_mutex_unlock(&tea);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, english, 0);
	pthread_create(&u, 0, scottish, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
