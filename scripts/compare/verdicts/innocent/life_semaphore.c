// Two semaphores at one address have one permit and are taken in opposite orders, but those are their lives: each is destroyed when its users were joined.
#include "turns.h"
#include <semaphore.h>

static sem_t s[2];

static void *uses(void *p) {
	long swap = (long)p;
	while (sem_wait(&s[swap]))
		;
	while (sem_wait(&s[!swap]))
		;
	sem_post(&s[!swap]);
	sem_post(&s[swap]);
	return NULL;
}

int main(void) {
	for (long swap = 0; swap < 2; swap++) {
		sem_init(&s[0], 0, 1);
		sem_init(&s[1], 0, 1);
		pthread_t t = start(uses, (void *)swap), u = start(uses, (void *)swap);
		pthread_join(t, NULL);
		pthread_join(u, NULL);
		sem_destroy(&s[0]);
		sem_destroy(&s[1]);
	}
	return 0;
}
