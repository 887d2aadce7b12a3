// A resize of the pool joins a worker under the lock that the worker needs once more before it ends.
//
// expect: deadlock
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct pool {
	pthread_rwlock_t lock;
	pthread_t *threads;
	int count;
	long done;
};

static void *worker(void *p) {
	struct pool *pool = p;
	long n = 0;
	for (int i = 0; i < 10; i++)
		n += i;
	chance();
	pthread_rwlock_rdlock(&pool->lock);
	long share = n / pool->count;
	pthread_rwlock_unlock(&pool->lock);
	return (void *)share;
}

static void shrink(struct pool *p) {
	void *result;
	pthread_rwlock_wrlock(&p->lock);
	while (p->count > 0) {
		pthread_join(p->threads[p->count - 1], &result);
		p->done += (long)result;
		p->count--;
	}
	pthread_rwlock_unlock(&p->lock);
}

int main(void) {
	struct pool p = {.count = 2, .threads = calloc(2, sizeof(pthread_t))};
	pthread_rwlock_init(&p.lock, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&p.threads[i], 0, worker, &p);
	later(1);
	shrink(&p);
	free(p.threads);
	return p.done != 44;
}
