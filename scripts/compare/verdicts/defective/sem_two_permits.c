// Each of three threads takes two of three permits, one by one: when each of them has one, none is
// left, and no thread gives back what it has before it has two.
//
// expect: deadlock
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t permits;

static void *work(void *step) {
	later((int)(long)step);
	sem_wait(&permits);
	chance();
	sem_wait(&permits);
	sem_post(&permits);
	sem_post(&permits);
	return 0;
}

int main(void) {
	pthread_t t[3];
	sem_init(&permits, 0, 3);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
