// Two locks made of atomic exchanges, in opposite orders, at different times.
//
// expect: deadlock
#include "threads.h"
#include <stdatomic.h>

static atomic_int a, b;

static void take(atomic_int *lock) {
	while (atomic_exchange_explicit(lock, 1, memory_order_acquire))
		;
}

static void give(atomic_int *lock) {
	atomic_store_explicit(lock, 0, memory_order_release);
}

static void *forth(void *unused) {
	take(&a);
	take(&b);
	give(&b);
	give(&a);
	return unused;
}

static void *back(void *unused) {
	later(1);
	take(&b);
	take(&a);
	give(&a);
	give(&b);
	return unused;
}

int main(void) {
	RUN(forth, back);
	return 0;
}
