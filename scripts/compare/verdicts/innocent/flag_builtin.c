// The flag is a plain int by its type, but all its accesses are the compiler's __atomic built-ins with release and acquire.
// watch: data
#include "halves.h"

static int ready;

static void *first(void *unused) {
	early();
	rest(15);
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	return unused;
}

static void *second(void *unused) {
	while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		rest(1);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
