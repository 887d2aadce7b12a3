// A new table is published by an atomic pointer, and the old one cleared at once, though a reader may
// still use it. In this run the reader was done.
//
// expect: race
#include "threads.h"
#include <stdatomic.h>

struct table {
	int size;
};

static _Atomic(struct table *) current;
static int seen;

static void *reader(void *unused) {
	struct table *mine = atomic_load(&current);
	seen = mine->size;
	return unused;
}

static void *writer(void *unused) {
	later(1);
	struct table *next = malloc(sizeof *next);
	if (!next)
		exit(1);
	next->size = 2;
	struct table *old = atomic_exchange(&current, next);
	old->size = 0;
	free(old);
	return unused;
}

int main(void) {
	struct table *first = malloc(sizeof *first);
	if (!first)
		return 1;
	first->size = 1;
	atomic_store(&current, first);
	RUN(reader, writer);
	free(atomic_load(&current));
	return seen != 1;
}
