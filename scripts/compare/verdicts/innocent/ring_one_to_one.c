// The slots of a ring are written and read under no lock, but atomic indices say which are full: the producer's release is the consumer's acquire, and back.
// watch: shared
#include "turns.h"
#include <stdatomic.h>

enum { SIZE = 4, ITEMS = 12 };
static long slots[SIZE], sum;
static atomic_uint head, tail;

static void *produces(void *unused) {
	for (unsigned i = 0; i < ITEMS; i++) {
		while (i - atomic_load_explicit(&tail, memory_order_acquire) == SIZE)
			rest(1);
		slots[i % SIZE] = i;
		atomic_store_explicit(&head, i + 1, memory_order_release);
	}
	return unused;
}

static void *consumes(void *unused) {
	for (unsigned i = 0; i < ITEMS; i++) {
		while (atomic_load_explicit(&head, memory_order_acquire) == i)
			rest(1);
		sum += slots[i % SIZE];
		atomic_store_explicit(&tail, i + 1, memory_order_release);
	}
	return unused;
}

int main(void) {
	both(produces, consumes);
	return sum != ITEMS * (ITEMS - 1) / 2;
}
