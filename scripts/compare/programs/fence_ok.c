// A message is published by a relaxed flag with fences around it, which order it.
//
// expect: nothing
#include "threads.h"
#include <stdatomic.h>

static int message, seen;
static atomic_int ready;

static void *publisher(void *unused) {
	message = 42;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&ready, 1, memory_order_relaxed);
	return unused;
}

static void *subscriber(void *unused) {
	later(1);
	while (!atomic_load_explicit(&ready, memory_order_relaxed))
		milliseconds(1);
	atomic_thread_fence(memory_order_acquire);
	seen = message;
	return unused;
}

int main(void) {
	RUN(publisher, subscriber);
	return seen != 42;
}
