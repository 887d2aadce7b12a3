// Two calls have their locks at the same place of main's stack and their helpers nest them in opposite orders, but the first call waits for its helper.
#include "turns.h"
#include <semaphore.h>

struct task { pthread_mutex_t *outer, *inner; };

static sem_t given[2], done;
static struct task current;

static void *helps(void *p) {
	while (sem_wait(&given[(long)p]))
		;
	nest(current.outer, current.inner);
	sem_post(&done);
	return NULL;
}

__attribute__((noinline)) static void with_locks(int swap) {
	pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	current = (struct task){&m[swap], &m[!swap]};
	sem_post(&given[swap]);
	while (sem_wait(&done))
		;
}

int main(void) {
	sem_init(&given[0], 0, 0);
	sem_init(&given[1], 0, 0);
	sem_init(&done, 0, 0);
	pthread_t s = start(helps, (void *)0), t = start(helps, (void *)1);
	with_locks(0);
	rest(10);
	with_locks(1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
