// Two threads nest mutexes in opposite orders, but both do it with the only permit of a semaphore in their hands.
#include "turns.h"
#include <semaphore.h>

static sem_t gate;
static pthread_mutex_t red = PTHREAD_MUTEX_INITIALIZER, blue = PTHREAD_MUTEX_INITIALIZER;

static void *forth(void *unused) {
	while (sem_wait(&gate))
		;
	nest(&red, &blue);
	sem_post(&gate);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	while (sem_wait(&gate))
		;
	nest(&blue, &red);
	sem_post(&gate);
	return unused;
}

int main(void) {
	sem_init(&gate, 0, 1);
	both(forth, back);
	sem_destroy(&gate);
	return 0;
}
