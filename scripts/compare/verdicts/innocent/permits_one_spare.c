// Three threads take forks on both sides round a table, but a semaphore with two permits lets only two of them sit down at a time.
#include "turns.h"
#include <semaphore.h>

static sem_t seats;
static pthread_mutex_t fork_of[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *dines(void *p) {
	long i = (long)p;
	for (int n = 0; n < 3; n++) {
		while (sem_wait(&seats))
			;
		nest(&fork_of[i], &fork_of[(i + 1) % 3]);
		sem_post(&seats);
		rest(2);
	}
	return NULL;
}

int main(void) {
	sem_init(&seats, 0, 2);
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		t[i] = start(dines, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	sem_destroy(&seats);
	return 0;
}
