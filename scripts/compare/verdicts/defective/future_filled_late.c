// A worker says under the lock that its future is done, and stores the result when it has released the lock: whoever waits may read before.
//
// expect: race result
// watch: result of struct future
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct future {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int done;
	long result;
};

static void *compute(void *p) {
	struct future *f = p;
	long n = 0;
	for (int i = 0; i < 100; i++)
		n += i;
	pthread_mutex_lock(&f->lock);
	f->done = 1;
	pthread_cond_signal(&f->filled);
	pthread_mutex_unlock(&f->lock);
	chance();
	f->result = n;
	return 0;
}

static long get(struct future *f) {
	pthread_mutex_lock(&f->lock);
	while (!f->done)
		pthread_cond_wait(&f->filled, &f->lock);
	pthread_mutex_unlock(&f->lock);
	later(1);
	return f->result;
}

int main(void) {
	struct future *f = calloc(1, sizeof *f);
	pthread_mutex_init(&f->lock, 0);
	pthread_cond_init(&f->filled, 0);
	pthread_t t;
	pthread_create(&t, 0, compute, f);
	long n = get(f);
	pthread_join(t, 0);
	free(f);
	return n != 4950;
}
