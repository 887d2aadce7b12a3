// Many producers fill slots under no lock, but each took its slot by fetch_add and marks it full by a release store, which the consumer awaits.
// watch: shared
#include "turns.h"
#include <stdatomic.h>

static long values[8], sum;
static atomic_int full[8];
static atomic_uint next;

static void *produces(void *unused) {
	for (int i = 0; i < 4; i++) {
		unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
		values[mine] = mine;
		atomic_store_explicit(&full[mine], 1, memory_order_release);
		rest(2);
	}
	return unused;
}

static void *consumes(void *unused) {
	for (int i = 0; i < 8; i++) {
		while (!atomic_load_explicit(&full[i], memory_order_acquire))
			rest(1);
		sum += values[i];
	}
	return unused;
}

int main(void) {
	pthread_t t = start(consumes, NULL);
	both(produces, produces);
	pthread_join(t, NULL);
	return sum != 28;
}
