// The second half is a cleanup handler with locks in the other order; it runs when main, after the first half, cancels the thread, which never ends otherwise.
// watch: data
#include "halves.h"
#include <semaphore.h>

static sem_t ready;

static void cleans(void *unused) { late(); }

static void *works(void *unused) {
	pthread_cleanup_push(cleans, NULL);
	sem_post(&ready);
	for (;;)
		rest(1000);
	pthread_cleanup_pop(0);
	return unused;
}

int main(void) {
	sem_init(&ready, 0, 0);
	pthread_t t = start(works, NULL);
	while (sem_wait(&ready))
		;
	early();
	rest(10);
	pthread_cancel(t);
	pthread_join(t, NULL);
	sem_destroy(&ready);
	return data != 42;
}
