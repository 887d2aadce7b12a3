// The second thread waits for the flag without sleeping, by sched_yield, and tests it in a do loop behind the call.
// watch: data
#include "halves.h"
#include <sched.h>
#include <stdatomic.h>

static struct { atomic_long generation; } *shared;

static void *first(void *unused) {
	early();
	rest(10);
	atomic_fetch_add_explicit(&shared->generation, 1, memory_order_release);
	return unused;
}

static void *second(void *unused) {
	do
		sched_yield();
	while (atomic_load_explicit(&shared->generation, memory_order_acquire) == 0);
	late();
	return unused;
}

int main(void) {
	shared = calloc(1, sizeof *shared);
	both(first, second);
	free(shared);
	return data != 42;
}
