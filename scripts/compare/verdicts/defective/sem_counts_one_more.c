// The semaphore begins with one permit too many: the reader may pass before the writer has posted.
//
// expect: race message
// watch: message
// build: -O2
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t filled;
static long message, received;

static void *sends(void *unused) {
	for (int i = 1; i <= 2; i++) {
		message = i;
		sem_post(&filled);
		chance();
	}
	return unused;
}

static void *receives(void *unused) {
	later(1);
	sem_wait(&filled);
	sem_wait(&filled);
	received = message;
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&filled, 0, 1);
	pthread_create(&t, 0, sends, 0);
	pthread_create(&u, 0, receives, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return received != 2;
}
