// Two semaphores are taken in opposite orders, but one thread takes its second one by sem_trywait and gives the first one back if there is no permit.
#include "turns.h"
#include <semaphore.h>

static sem_t disk, tape;

static void take(sem_t *s) {
	while (sem_wait(s))
		;
}

static void *forth(void *unused) {
	take(&disk);
	take(&tape);
	sem_post(&tape);
	sem_post(&disk);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	for (;; rest(1)) {
		take(&tape);
		if (!sem_trywait(&disk))
			break;
		sem_post(&tape);
	}
	sem_post(&disk);
	sem_post(&tape);
	return unused;
}

int main(void) {
	sem_init(&disk, 0, 1);
	sem_init(&tape, 0, 1);
	both(forth, back);
	sem_destroy(&disk);
	sem_destroy(&tape);
	return 0;
}
