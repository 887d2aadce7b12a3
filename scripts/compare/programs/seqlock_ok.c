// A sequence lock: the reader reads again if the sequence shows that a writer was there, and the
// pair is relaxed atomics, as C11 wants it.
//
// expect: nothing
#include "threads.h"
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_int low, high;
static int sum;

static void *writer(void *unused) {
	unsigned before = atomic_load_explicit(&sequence, memory_order_relaxed);
	atomic_store_explicit(&sequence, before + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&low, 1, memory_order_relaxed);
	atomic_store_explicit(&high, 2, memory_order_relaxed);
	atomic_store_explicit(&sequence, before + 2, memory_order_release);
	return unused;
}

static void *reader(void *unused) {
	later(1);
	unsigned before, after;
	do {
		before = atomic_load_explicit(&sequence, memory_order_acquire);
		sum = atomic_load_explicit(&low, memory_order_relaxed) + atomic_load_explicit(&high, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&sequence, memory_order_relaxed);
	} while (before % 2 || before != after);
	return unused;
}

int main(void) {
	RUN(writer, reader);
	return sum != 3;
}
