// The old __sync built-ins order the halves: a compare-and-swap by the first thread, tested by adding nothing in the second.
// watch: data
#include "halves.h"

static int stage;

static void *first(void *unused) {
	early();
	rest(15);
	__sync_bool_compare_and_swap(&stage, 0, 1);
	return unused;
}

static void *second(void *unused) {
	while (__sync_fetch_and_add(&stage, 0) != 1)
		rest(1);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
