// The flag is set by = and tested by its name, as a plain variable would be, but it is _Atomic: both are sequentially consistent.
// watch: data
#include "halves.h"
#include <stdbool.h>

static _Atomic bool ready;

static void *first(void *unused) {
	early();
	rest(15);
	ready = true;
	return unused;
}

static void *second(void *unused) {
	while (!ready)
		;
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
