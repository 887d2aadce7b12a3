// The flag's own accesses are relaxed and order nothing, but a release fence stands before the store and an acquire fence behind the load.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static atomic_int ready;

static void *first(void *unused) {
	early();
	rest(15);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&ready, 1, memory_order_relaxed);
	return unused;
}

static void *second(void *unused) {
	while (!atomic_load_explicit(&ready, memory_order_relaxed))
		rest(1);
	atomic_thread_fence(memory_order_acquire);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
