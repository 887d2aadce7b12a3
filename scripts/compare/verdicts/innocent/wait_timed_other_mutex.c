// Two threads that live at the same time wait on one condition, each with a mutex of its own, by waits with a time limit, but the first gives up and says so before the second begins.
#include "turns.h"
#include <semaphore.h>

static pthread_mutex_t north = PTHREAD_MUTEX_INITIALIZER, south = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t given_up;

static void waits(pthread_mutex_t *mutex) {
	struct timespec limit;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += 20000000;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	pthread_mutex_lock(mutex);
	while (!pthread_cond_timedwait(&changed, mutex, &limit))
		;
	pthread_mutex_unlock(mutex);
}

static void *first(void *unused) {
	waits(&north);
	sem_post(&given_up);
	rest(60);
	return unused;
}

static void *second(void *unused) {
	sem_wait(&given_up);
	waits(&south);
	return unused;
}

int main(void) {
	sem_init(&given_up, 0, 0);
	both(first, second);
	return 0;
}
