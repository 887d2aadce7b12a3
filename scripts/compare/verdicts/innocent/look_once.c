// The second thread looks once, without a loop, at an atomic member of an allocated structure, and goes on only if it
// sees what the first thread has stored there when it was over.
// watch: data
#include "halves.h"
#include <stdatomic.h>

struct gate {
	int unused;
	atomic_int open;
};

static struct gate *gate;

static void *first(void *unused) {
	early();
	atomic_store_explicit(&gate->open, 1, memory_order_release);
	return unused;
}

static void *second(void *unused) {
	rest(20);
	if (atomic_load_explicit(&gate->open, memory_order_acquire))
		late();
	return unused;
}

int main(void) {
	gate = calloc(1, sizeof *gate);
	both(first, second);
	free(gate);
}
