// The thread of the second half never reads the flag that the first one sets: a third thread does, and sets another, which it reads.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static struct { _Atomic char set; } flags[2];

static void *first(void *unused) {
	early();
	atomic_store_explicit(&flags[0].set, 1, memory_order_release);
	return unused;
}

static void *relays(void *unused) {
	while (!atomic_load_explicit(&flags[0].set, memory_order_acquire))
		rest(1);
	rest(10);
	atomic_store_explicit(&flags[1].set, 1, memory_order_release);
	return unused;
}

static void *second(void *unused) {
	while (!atomic_load_explicit(&flags[1].set, memory_order_acquire))
		rest(1);
	late();
	return unused;
}

int main(void) {
	pthread_t t = start(relays, NULL);
	both(first, second);
	pthread_join(t, NULL);
	return data != 42;
}
