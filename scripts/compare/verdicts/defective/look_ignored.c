// The second thread looks once at the atomic flag on the heap, counts whether it was set, and goes on in any case.
//
// expect: race data
// watch: data
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fortune.h"

struct gate {
	int unused;
	atomic_int open;
};

static int data, early;

static void *first(void *p) {
	struct gate *g = p;
	data = 1;
	atomic_store_explicit(&g->open, 1, memory_order_release);
	return NULL;
}

static void *second(void *p) {
	struct gate *g = p;
	later(1);
	data++;
	if (!atomic_load_explicit(&g->open, memory_order_acquire))
		early++;
	return NULL;
}

int main(void) {
	struct gate *g = calloc(1, sizeof *g);
	pthread_t a, b;
	pthread_create(&a, NULL, first, g);
	pthread_create(&b, NULL, second, g);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	free(g);
	return data < 1;
}
