// Two binary semaphores used as locks in opposite orders: each thread can take its first, and the
// posts that would help come only after what the other waits for.
//
// expect: deadlock
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t crane, truck;
static int loads;

static void *load(void *unused) {
	sem_wait(&crane);
	chance();
	sem_wait(&truck);
	loads++;
	sem_post(&truck);
	sem_post(&crane);
	return unused;
}

static void *unload(void *unused) {
	later(1);
	sem_wait(&truck);
	chance();
	sem_wait(&crane);
	loads--;
	sem_post(&crane);
	sem_post(&truck);
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&crane, 0, 1);
	sem_init(&truck, 0, 1);
	pthread_create(&t, 0, load, 0);
	pthread_create(&u, 0, unload, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return loads;
}
