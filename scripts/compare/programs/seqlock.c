// A sequence lock whose reader reads the pair before it checks the sequence.
//
// expect: race low
// expect: race high
#include "threads.h"
#include <stdatomic.h>

static atomic_uint sequence;
static int low, high, sum;

static void *writer(void *unused) {
	atomic_fetch_add(&sequence, 1);
	low = 1;
	high = 2;
	atomic_fetch_add(&sequence, 1);
	return unused;
}

static void *reader(void *unused) {
	later(1);
	unsigned before;
	do {
		sum = low + high;
		before = atomic_load(&sequence);
	} while (before % 2 || atomic_load(&sequence) != before);
	return unused;
}

int main(void) {
	RUN(writer, reader);
	return sum != 3;
}
