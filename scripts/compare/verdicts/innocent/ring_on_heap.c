// A ring of jobs on the heap, with its indices beside it; each job is plain memory that changes owner by the release and acquire of an index.
// watch: cost of struct job
#include "turns.h"
#include <stdatomic.h>

struct job { long cost; };
struct ring {
	struct job slots[4];
	_Alignas(64) atomic_size_t head;
	_Alignas(64) atomic_size_t tail;
};

static void *produces(void *p) {
	struct ring *r = p;
	for (size_t i = 0; i < 10; i++) {
		while (i - atomic_load_explicit(&r->tail, memory_order_acquire) == 4)
			rest(1);
		struct job *j = &r->slots[i % 4];
		j->cost = (long)i;
		atomic_store_explicit(&r->head, i + 1, memory_order_release);
	}
	return NULL;
}

static void *consumes(void *p) {
	struct ring *r = p;
	long sum = 0;
	for (size_t i = 0; i < 10; i++) {
		while (atomic_load_explicit(&r->head, memory_order_acquire) == i)
			rest(1);
		struct job *j = &r->slots[i % 4];
		sum += j->cost;
		j->cost = -1;
		atomic_store_explicit(&r->tail, i + 1, memory_order_release);
	}
	return (void *)sum;
}

int main(void) {
	struct ring *r = aligned_alloc(64, sizeof *r);
	atomic_init(&r->head, 0);
	atomic_init(&r->tail, 0);
	pthread_t s = start(produces, r), t = start(consumes, r);
	void *sum;
	pthread_join(s, NULL);
	pthread_join(t, &sum);
	free(r);
	return (long)sum != 45;
}
