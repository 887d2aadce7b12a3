/* A queue of one place, whose threads synchronise by atomics behind a pointer. */
#include <stdatomic.h>
#include <sched.h>
#include <stdlib.h>

struct ring {
	_Atomic(void *) place;
};

struct ring *ring_new(void) { return calloc(1, sizeof(struct ring)); }

void ring_put(struct ring *r, void *p)
{
	void *none = NULL;

	while (!atomic_compare_exchange_weak(&r->place, &none, p))
		none = NULL;
}

void *ring_get(struct ring *r)
{
	void *p;

	while (!(p = atomic_exchange(&r->place, NULL)))
		sched_yield();
	return p;
}
