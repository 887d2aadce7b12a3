// Plain data and opposite lock orders without a common lock, but an _Atomic flag, stored after the first half, is seen before the second.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static _Atomic int ready;

static void *first(void *unused) {
	early();
	rest(15);
	atomic_store_explicit(&ready, 1, memory_order_release);
	return unused;
}

static void *second(void *unused) {
	while (!atomic_load_explicit(&ready, memory_order_acquire))
		rest(1);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
