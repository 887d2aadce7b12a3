// Each of two threads waits for a semaphore that the other posts afterwards, but also main posts both: there is always a permit for each.
#include "turns.h"
#include <semaphore.h>

static sem_t a, b;

static void *x(void *unused) {
	while (sem_wait(&a))
		;
	sem_post(&b);
	return unused;
}

static void *y(void *unused) {
	rest(10);
	while (sem_wait(&b))
		;
	sem_post(&a);
	return unused;
}

int main(void) {
	sem_init(&a, 0, 0);
	sem_init(&b, 0, 0);
	pthread_t s = start(x, NULL), t = start(y, NULL);
	sem_post(&a);
	sem_post(&b);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	sem_destroy(&a);
	sem_destroy(&b);
	return 0;
}
