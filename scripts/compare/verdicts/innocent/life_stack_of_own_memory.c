// Threads with locks on their stacks use one block of the program's memory as their stack, one after the other: each is joined before the block goes on.
#include "turns.h"
#include <semaphore.h>

enum { SIZE = 1 << 18 };
static char *block;
static sem_t free_block;

static void *inner(void *swap) {
	pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	nest(&m[swap != NULL], &m[swap == NULL]);
	return NULL;
}

static void use(void *argument) {
	pthread_attr_t a;
	pthread_t t;
	while (sem_wait(&free_block))
		;
	pthread_attr_init(&a);
	pthread_attr_setstack(&a, block, SIZE);
	need(!pthread_create(&t, &a, inner, argument), "pthread_create");
	pthread_join(t, NULL);
	pthread_attr_destroy(&a);
	sem_post(&free_block);
}

static void *forth(void *unused) {
	use(NULL);
	return unused;
}

static void *back(void *unused) {
	rest(20);
	use(&block);
	return unused;
}

int main(void) {
	block = aligned_alloc(4096, SIZE);
	sem_init(&free_block, 0, 1);
	both(forth, back);
	sem_destroy(&free_block);
	free(block);
	return 0;
}
