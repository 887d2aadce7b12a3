// The second half waits until an atomic structure of 8 bytes says that the first is over; its members are compared one by one.
// watch: data
#include "halves.h"
#include <stdatomic.h>

struct range { int from, to; };
static _Atomic struct range range;

static void *first(void *unused) {
	early();
	struct range r = {3, 7};
	atomic_store(&range, r);
	return unused;
}

static void *second(void *unused) {
	struct range r;
	do {
		rest(1);
		r = atomic_load(&range);
	} while (r.from != 3 || r.to != 7);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
