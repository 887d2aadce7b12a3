// Two semaphores are taken in opposite orders by two threads, but each has two permits: whoever takes one leaves one for the other.
#include "turns.h"
#include <semaphore.h>

static sem_t pens, sheets;

static void use(sem_t *a, sem_t *b) {
	while (sem_wait(a))
		;
	while (sem_wait(b))
		;
	rest(3);
	sem_post(b);
	sem_post(a);
}

static void *draws(void *unused) {
	use(&pens, &sheets);
	return unused;
}

static void *writes(void *unused) {
	rest(15);
	use(&sheets, &pens);
	return unused;
}

int main(void) {
	sem_init(&pens, 0, 2);
	sem_init(&sheets, 0, 2);
	both(draws, writes);
	sem_destroy(&pens);
	sem_destroy(&sheets);
	return 0;
}
