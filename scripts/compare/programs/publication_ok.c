// A message is published by an atomic flag whose store releases and whose load
// acquires.
//
// expect: nothing
#include "threads.h"
#include <stdatomic.h>

static int message, seen;
static atomic_int ready;

static void *publisher(void *unused) {
	message = 42;
	atomic_store_explicit(&ready, 1, memory_order_release);
	return unused;
}

static void *subscriber(void *unused) {
	later(1);
	while (!atomic_load_explicit(&ready, memory_order_acquire))
		milliseconds(1);
	seen = message;
	return unused;
}

int main(void) {
	RUN(publisher, subscriber);
	return seen != 42;
}
