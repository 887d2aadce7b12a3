// Code without debug information: one thread counts under a spin lock of its own, an exchange by a built-in on a plain int;
// the other one takes no lock.
//
// expect: race count
// args: --watch-shared
// build: -g0
#include <pthread.h>

#include "fortune.h"

static int taken;
static long count;

static void *counts(void *unused) {
	for (int i = 0; i < 3; i++) {
		while (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
			nanoseconds(1000000);
		count++;
		__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
		chance();
	}
	return unused;
}

static void *resets(void *unused) {
	later(5);
	count = 0;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, counts, 0);
	pthread_create(&u, 0, resets, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return count > 3;
}
