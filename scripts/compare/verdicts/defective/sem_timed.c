// A mutex and a binary semaphore in opposite orders; the wait for the semaphore has a time limit,
// but is begun again while the mutex is kept.
//
// expect: deadlock
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static sem_t stamp;
static int letters;

static void take_stamp(void) {
	struct timespec limit;
	do {
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec++;
	} while (sem_timedwait(&stamp, &limit));
}

static void *write_letter(void *unused) {
	pthread_mutex_lock(&desk);
	chance();
	take_stamp();
	letters++;
	sem_post(&stamp);
	pthread_mutex_unlock(&desk);
	return unused;
}

static void *lend_stamp(void *unused) {
	later(1);
	take_stamp();
	chance();
	pthread_mutex_lock(&desk);
	letters++;
	pthread_mutex_unlock(&desk);
	sem_post(&stamp);
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&stamp, 0, 1);
	pthread_create(&t, 0, write_letter, 0);
	pthread_create(&u, 0, lend_stamp, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letters != 2;
}
