// What mtx_lock took in one thread mtx_unlock gives back in another, but these are the program's own and work by a semaphore, which has no owner.
// watch: value
#include "turns.h"
#include <semaphore.h>

struct mtx { sem_t permit; };
static struct mtx m;
static long value;

__attribute__((noinline)) int mtx_lock(struct mtx *x) {
	while (sem_wait(&x->permit))
		;
	return 0;
}

__attribute__((noinline)) int mtx_unlock(struct mtx *x) { return sem_post(&x->permit); }

static void *takes(void *unused) {
	mtx_lock(&m);
	value++;
	return unused;
}

static void *gives(void *unused) {
	pthread_join(start(takes, NULL), NULL);
	value++;
	mtx_unlock(&m);
	return unused;
}

int main(void) {
	sem_init(&m.permit, 0, 1);
	both(gives, gives);
	sem_destroy(&m.permit);
	return value != 4;
}
