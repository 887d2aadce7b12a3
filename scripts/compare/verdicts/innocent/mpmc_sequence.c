// Cells of a queue for many producers and consumers are plain memory under no lock, but each cell's sequence number (release, acquire) says whose turn it is.
// watch: shared
// build: -O2
#include "turns.h"
#include <sched.h>
#include <stdatomic.h>

enum { SIZE = 4, EACH = 6 };
static struct cell { atomic_ulong sequence; long item; } cells[SIZE];
static atomic_ulong head, tail;
static atomic_long sum;

static void push(long item) {
	unsigned long at = atomic_load(&tail);
	for (;;) {
		struct cell *c = &cells[at % SIZE];
		long ahead = (long)(atomic_load_explicit(&c->sequence, memory_order_acquire) - at);
		if (!ahead && atomic_compare_exchange_weak(&tail, &at, at + 1)) {
			c->item = item;
			atomic_store_explicit(&c->sequence, at + 1, memory_order_release);
			return;
		}
		if (ahead < 0)
			sched_yield();
		at = atomic_load(&tail);
	}
}

static long pop(void) {
	unsigned long at = atomic_load(&head);
	for (;;) {
		struct cell *c = &cells[at % SIZE];
		long ahead = (long)(atomic_load_explicit(&c->sequence, memory_order_acquire) - (at + 1));
		if (!ahead && atomic_compare_exchange_weak(&head, &at, at + 1)) {
			long item = c->item;
			atomic_store_explicit(&c->sequence, at + SIZE, memory_order_release);
			return item;
		}
		if (ahead < 0)
			sched_yield();
		at = atomic_load(&head);
	}
}

static void *produces(void *p) {
	for (int i = 0; i < EACH; i++)
		push((long)p + i);
	return NULL;
}

static void *consumes(void *unused) {
	for (int i = 0; i < EACH; i++)
		atomic_fetch_add(&sum, pop());
	return unused;
}

int main(void) {
	for (unsigned long i = 0; i < SIZE; i++)
		atomic_init(&cells[i].sequence, i);
	pthread_t t[4] = {start(produces, (void *)0), start(produces, (void *)100), start(consumes, NULL), start(consumes, NULL)};
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return sum != 630;
}
