// Readers copy two values while a writer may change them, but they are relaxed atomics between the two loads of a sequence, and torn pairs are thrown away.
// watch: low, high
#include "turns.h"
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_long low, high;

static void *writes(void *unused) {
	for (long i = 1; i < 20; i++) {
		unsigned s = atomic_load_explicit(&sequence, memory_order_relaxed);
		atomic_store_explicit(&sequence, s + 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&low, i, memory_order_relaxed);
		atomic_store_explicit(&high, -i, memory_order_relaxed);
		atomic_store_explicit(&sequence, s + 2, memory_order_release);
		rest(1);
	}
	return unused;
}

static void *reads(void *unused) {
	for (int i = 0; i < 10; i++) {
		long l, h;
		unsigned s, again;
		do {
			s = atomic_load_explicit(&sequence, memory_order_acquire);
			l = atomic_load_explicit(&low, memory_order_relaxed);
			h = atomic_load_explicit(&high, memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
			again = atomic_load_explicit(&sequence, memory_order_relaxed);
		} while (s != again || s % 2);
		need(l + h == 0, "torn");
		rest(1);
	}
	return unused;
}

int main(void) {
	both(writes, reads);
	return 0;
}
