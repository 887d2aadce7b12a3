// A list grows at its end: an entry of the static table is written before the node that names it is published by an atomic
// pointer in the node before, and read after that pointer was loaded. The reader stops at the end of the list.
// watch: shared
#include "turns.h"
#include <stdatomic.h>

struct node {
	_Atomic(struct node *) next;
	int index;
};

static int table[16];
static long total;

static void *writes(void *list) {
	struct node *last = list;
	for (int i = 0; i < 16; i++) {
		struct node *n = calloc(1, sizeof *n);
		n->index = i;
		table[i] = i + 1;
		atomic_store_explicit(&last->next, n, memory_order_release);
		last = n;
		if (i % 4 == 0)
			rest(1);
	}
	return NULL;
}

static void *reads(void *list) {
	long sum = 0;
	rest(3);
	for (struct node *n = list; (n = atomic_load_explicit(&n->next, memory_order_acquire));)
		sum += table[n->index];
	total = sum;
	return NULL;
}

int main(void) {
	struct node *list = calloc(1, sizeof *list);
	pthread_t a = start(writes, list), b = start(reads, list);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return total < 0;
}
