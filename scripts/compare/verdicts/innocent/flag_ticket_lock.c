// Plain data and opposite lock orders; a ticket lock of the program's own, on the heap, keeps the two threads apart.
// watch: total
#include "turns.h"
#include <stdatomic.h>

struct ticket { atomic_uint next, serving; };

static struct ticket *gate;
static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void enter(struct ticket *t) {
	unsigned mine = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
	while (atomic_load_explicit(&t->serving, memory_order_acquire) != mine)
		rest(1);
}

static void leave(struct ticket *t) {
	unsigned now = atomic_load_explicit(&t->serving, memory_order_relaxed);
	atomic_store_explicit(&t->serving, now + 1, memory_order_release);
}

static void *forth(void *unused) {
	enter(gate);
	nest(&p, &q);
	total++;
	leave(gate);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	enter(gate);
	nest(&q, &p);
	total++;
	leave(gate);
	return unused;
}

int main(void) {
	gate = calloc(1, sizeof *gate);
	both(forth, back);
	free(gate);
	return total != 2;
}
