// A node is freed by one thread while another may have loaded its address, but the reader has announced it and tested again, and the owner looks before it frees.
// watch: value of struct node
#include "turns.h"
#include <stdatomic.h>

struct node { long value; };

static struct node *_Atomic shared_node, *_Atomic hazard;
static atomic_int stop;

static void *reads(void *unused) {
	while (!atomic_load(&stop)) {
		struct node *n;
		do {
			n = atomic_load(&shared_node);
			atomic_store(&hazard, n);
		} while (n != atomic_load(&shared_node));
		need(n->value > 0, "freed");
		atomic_store(&hazard, NULL);
		rest(1);
	}
	return unused;
}

int main(void) {
	struct node *n = malloc(sizeof *n);
	n->value = 1;
	atomic_store(&shared_node, n);
	pthread_t t = start(reads, NULL);
	for (long i = 2; i < 10; i++) {
		n = malloc(sizeof *n);
		n->value = i;
		struct node *old = atomic_exchange(&shared_node, n);
		while (atomic_load(&hazard) == old)
			;
		old->value = 0;
		free(old);
		rest(2);
	}
	atomic_store(&stop, 1);
	pthread_join(t, NULL);
	free(shared_node);
	return 0;
}
