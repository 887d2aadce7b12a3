// A message is published by an atomic flag that is stored and loaded relaxed: the
// flag orders nothing, and a compiler or a weaker processor than x86-64 may show
// the flag before the message.
//
// expect: race message
#include "threads.h"
#include <stdatomic.h>

static int message, seen;
static atomic_int ready;

static void *publisher(void *unused) {
	message = 42;
	atomic_store_explicit(&ready, 1, memory_order_relaxed);
	return unused;
}

static void *subscriber(void *unused) {
	later(1);
	while (!atomic_load_explicit(&ready, memory_order_relaxed))
		milliseconds(1);
	seen = message;
	return unused;
}

int main(void) {
	RUN(publisher, subscriber);
	return seen != 42;
}
