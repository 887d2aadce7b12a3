// A configuration is written and read under no lock, but its pointer is published by an atomic store when it is complete, and it never changes afterwards.
// watch: limit of struct config
#include "turns.h"
#include <stdatomic.h>

struct config { long limit, size; };

static struct config *_Atomic current;

static void *loads(void *unused) {
	struct config *c = malloc(sizeof *c);
	c->limit = 3;
	c->size = 4;
	rest(15);
	atomic_store_explicit(&current, c, memory_order_release);
	return unused;
}

static void *uses(void *unused) {
	struct config *c;
	while (!(c = atomic_load_explicit(&current, memory_order_acquire)))
		rest(1);
	return c->limit + c->size == 7 ? unused : c;
}

int main(void) {
	pthread_t t = start(uses, NULL);
	both(loads, uses);
	pthread_join(t, NULL);
	free(current);
	return 0;
}
