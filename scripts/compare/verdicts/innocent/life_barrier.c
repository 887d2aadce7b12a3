// A barrier is destroyed and initialised for another number while threads that used it are still there, but each has said by a semaphore that it has left it.
// watch: phase
#include "turns.h"
#include <semaphore.h>

static pthread_barrier_t barrier;
static sem_t left, end;
static int phase;

static void *works(void *unused) {
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		phase++;
	sem_post(&left);
	while (sem_wait(&end))
		;
	return unused;
}

int main(void) {
	pthread_t t[5];
	int started = 0;
	sem_init(&left, 0, 0);
	sem_init(&end, 0, 0);
	for (int n = 2; n < 4; n++) {
		pthread_barrier_init(&barrier, NULL, n);
		for (int i = 0; i < n; i++)
			t[started++] = start(works, NULL);
		for (int i = 0; i < n; i++)
			while (sem_wait(&left))
				;
		pthread_barrier_destroy(&barrier);
	}
	for (int i = 0; i < started; i++)
		sem_post(&end);
	for (int i = 0; i < started; i++)
		pthread_join(t[i], NULL);
	return phase != 2;
}
