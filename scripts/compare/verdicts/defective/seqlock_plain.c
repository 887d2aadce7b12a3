// A sequence counter tells readers that they must try again, but what they read is plain memory that the writer may be writing: a race, whatever is done with the value.
//
// expect: race x
// watch: x
#include <pthread.h>
#include <stdatomic.h>

#include "fortune.h"

static atomic_uint sequence;
static long x, y;

static void *writes(void *unused) {
	for (int i = 1; i <= 3; i++) {
		atomic_fetch_add(&sequence, 1);
		x = i;
		chance();
		y = -i;
		atomic_fetch_add(&sequence, 1);
	}
	return unused;
}

static void *reads(void *unused) {
	unsigned before;
	long a, b;
	later(1);
	do {
		before = atomic_load(&sequence);
		a = x;
		b = y;
	} while (before % 2 || before != atomic_load(&sequence));
	return a == -b ? unused : &sequence;
}

int main(void) {
	pthread_t t, u;
	void *torn;
	pthread_create(&t, 0, writes, 0);
	pthread_create(&u, 0, reads, 0);
	pthread_join(t, 0);
	pthread_join(u, &torn);
	return torn != 0;
}
