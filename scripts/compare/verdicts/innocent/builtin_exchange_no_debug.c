// Code without debug information: two threads count in turns under a spin lock of their own, an exchange by a built-in on a plain int.
// args: --watch-shared
// build: -g0
#include "turns.h"

static int taken;
static long count;

static void *counts(void *unused) {
	for (int i = 0; i < 5; i++) {
		while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
			rest(1);
		count++;
		__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
		rest(20);
	}
	return unused;
}

int main(void) {
	both(counts, counts);
	return count != 10;
}
