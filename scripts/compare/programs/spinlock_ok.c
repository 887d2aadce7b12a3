// A lock made of an atomic exchange guards the counter.
//
// expect: nothing
// timed
#include "threads.h"
#include <stdatomic.h>

static atomic_int taken;
static int counter;

static void *raise(void *unused) {
	while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
		;
	counter++;
	atomic_store_explicit(&taken, 0, memory_order_release);
	return unused;
}

static void *raise_later(void *unused) {
	later(1);
	return raise(unused);
}

int main(void) {
	RUN(raise, raise_later);
	return counter != 2;
}
