// main's loop writes the argument of each thread and threads free it without a lock, but creation hands it over, and each is another block, mostly at one address.
// watch: number of struct argument
#include "turns.h"
#include <semaphore.h>

struct argument { int number; };
static sem_t done;

static void *works(void *p) {
	struct argument *a = p;
	a->number *= 2;
	free(a);
	sem_post(&done);
	return NULL;
}

int main(void) {
	sem_init(&done, 0, 0);
	for (int i = 0; i < 4; i++) {
		struct argument *a = malloc(sizeof *a);
		a->number = i;
		pthread_detach(start(works, a));
	}
	for (int i = 0; i < 4; i++)
		while (sem_wait(&done))
			;
	return 0;
}
