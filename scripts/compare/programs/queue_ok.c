// A ring buffer for one producer and one consumer: atomic positions that are stored with release and
// loaded with acquire keep the two off the same element.
//
// expect: nothing
#include "threads.h"
#include <stdatomic.h>

enum { SIZE = 4, ITEMS = 10 };

static int items[SIZE], sum;
static atomic_uint written, taken;

static void *produce(void *unused) {
	for (unsigned i = 0; i < ITEMS; i++) {
		while (i - atomic_load_explicit(&taken, memory_order_acquire) == SIZE)
			milliseconds(1);
		items[i % SIZE] = (int)i;
		atomic_store_explicit(&written, i + 1, memory_order_release);
	}
	return unused;
}

static void *consume(void *unused) {
	for (unsigned i = 0; i < ITEMS; i++) {
		while (atomic_load_explicit(&written, memory_order_acquire) == i)
			milliseconds(1);
		sum += items[i % SIZE];
		atomic_store_explicit(&taken, i + 1, memory_order_release);
	}
	return unused;
}

int main(void) {
	RUN(produce, consume);
	return sum != 45;
}
