// The thread of the second half never joins the other, but it waits for a semaphore that main posts when main has joined it.
// watch: data
#include "halves.h"
#include <semaphore.h>

static sem_t go;

static void *first(void *unused) {
	early();
	return unused;
}

static void *second(void *unused) {
	while (sem_wait(&go))
		;
	late();
	return unused;
}

int main(void) {
	sem_init(&go, 0, 0);
	pthread_t t = start(second, NULL);
	pthread_join(start(first, NULL), NULL);
	rest(10);
	sem_post(&go);
	pthread_join(t, NULL);
	sem_destroy(&go);
	return data != 42;
}
