// A semaphore is destroyed by the thread that used it, and again by main at the end.
//
// expect: misuse slots
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t slots;

static void *use(void *unused) {
	sem_wait(&slots);
	sem_post(&slots);
	sem_destroy(&slots);
	return unused;
}

int main(void) {
	pthread_t t;
	sem_init(&slots, 0, 1);
	pthread_create(&t, 0, use, 0);
	pthread_join(t, 0);
	sem_destroy(&slots);
	return 0;
}
