// The flag that orders the halves is an atomic member of an allocated structure, which both threads reach by a pointer.
// watch: data
#include "halves.h"
#include <stdatomic.h>

struct gate {
	int unused;
	atomic_uint open;
};

static void *first(void *p) {
	struct gate *g = p;
	early();
	rest(15);
	atomic_store_explicit(&g->open, 1, memory_order_release);
	return NULL;
}

static void *second(void *p) {
	struct gate *g = p;
	while (!atomic_load_explicit(&g->open, memory_order_acquire))
		rest(1);
	late();
	return NULL;
}

int main(void) {
	struct gate *g = calloc(1, sizeof *g);
	pthread_t s = start(first, g), t = start(second, g);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	free(g);
	return data != 42;
}
