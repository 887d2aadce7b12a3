// The value that the second thread reads was stored by a relaxed fetch_add of a third, but it continues the first one's release sequence.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static atomic_int stage;

static void *first(void *unused) {
	early();
	atomic_store_explicit(&stage, 1, memory_order_release);
	return unused;
}

static void *steps(void *unused) {
	while (atomic_load_explicit(&stage, memory_order_relaxed) != 1)
		rest(1);
	rest(10);
	atomic_fetch_add_explicit(&stage, 1, memory_order_relaxed);
	return unused;
}

static void *second(void *unused) {
	while (atomic_load_explicit(&stage, memory_order_acquire) != 2)
		rest(1);
	late();
	return unused;
}

int main(void) {
	pthread_t t = start(steps, NULL);
	both(first, second);
	pthread_join(t, NULL);
	return data != 42;
}
