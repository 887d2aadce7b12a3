// The flag is static, but its address goes through a table and functions that do not know which flag they set or test.
// watch: data
#include "halves.h"
#include <stdatomic.h>

static atomic_int started, stopped;
static atomic_int *const events[] = {&started, &stopped};

__attribute__((noinline)) static void set(atomic_int *e) { atomic_store_explicit(e, 1, memory_order_release); }
__attribute__((noinline)) static int is_set(atomic_int *e) { return atomic_load_explicit(e, memory_order_acquire); }

static void *first(void *which) {
	early();
	rest(15);
	set(events[(long)which]);
	return NULL;
}

static void *second(void *which) {
	while (!is_set(events[(long)which]))
		rest(1);
	late();
	return NULL;
}

int main(void) {
	pthread_t s = start(first, (void *)1), t = start(second, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return data != 42;
}
