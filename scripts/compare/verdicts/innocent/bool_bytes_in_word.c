// Two threads each publish by a byte of their own in one word, and the third half waits until it has loaded the whole word with both.
// watch: data
// build: -O2
#include "halves.h"
#include <stdatomic.h>

static _Alignas(4) _Atomic unsigned char ready[4];
static long other;

static void *first(void *unused) {
	early();
	atomic_store_explicit(&ready[0], 1, memory_order_release);
	return unused;
}

static void *also(void *unused) {
	other = 5;
	atomic_store_explicit(&ready[3], 1, memory_order_release);
	return unused;
}

int main(void) {
	pthread_t t = start(first, NULL), u = start(also, NULL);
	while (!(atomic_load_explicit(&ready[0], memory_order_acquire) & atomic_load_explicit(&ready[3], memory_order_acquire)))
		rest(1);
	late();
	need(other == 5 && data == 42, "data");
	other++;
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
