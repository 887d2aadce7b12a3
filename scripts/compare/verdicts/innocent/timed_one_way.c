// Mutexes are nested in opposite orders, but one thread waits for its second one by pthread_mutex_clocklock, and does without it when the time is up.
#define _GNU_SOURCE
#include "turns.h"

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER, disk = PTHREAD_MUTEX_INITIALIZER;

static void *forth(void *unused) {
	nest(&cache, &disk);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_mutex_lock(&disk);
	if (!pthread_mutex_clocklock(&cache, CLOCK_MONOTONIC, &until))
		pthread_mutex_unlock(&cache);
	pthread_mutex_unlock(&disk);
	return unused;
}

int main(void) {
	both(forth, back);
	return 0;
}
