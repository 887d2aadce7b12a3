// One thread acquires what another releases; but it is a semaphore, which has no owner.
//
// expect: nothing
#include "threads.h"
#include <semaphore.h>

static sem_t permit;

static void *taker(void *unused) {
	sem_wait(&permit);
	later(2);
	return unused;
}

static void *giver(void *unused) {
	later(1);
	sem_post(&permit);
	return unused;
}

int main(void) {
	if (sem_init(&permit, 0, 1))
		return 1;
	RUN(taker, giver);
	return sem_destroy(&permit);
}
