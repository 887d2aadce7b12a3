// The thread that takes the permit never gives it back and another one posts it, but semaphores have no owner: the permit, and the data, are handed over.
// watch: page
#include "turns.h"
#include <semaphore.h>

static sem_t empty, full;
static int page;

static void *writes(void *unused) {
	for (int i = 0; i < 4; i++) {
		while (sem_wait(&empty))
			;
		page++;
		sem_post(&full);
	}
	return unused;
}

static void *prints(void *unused) {
	for (int i = 0; i < 4; i++) {
		while (sem_wait(&full))
			;
		page++;
		sem_post(&empty);
	}
	return unused;
}

int main(void) {
	sem_init(&empty, 0, 1);
	sem_init(&full, 0, 0);
	both(writes, prints);
	sem_destroy(&empty);
	sem_destroy(&full);
	return page != 8;
}
