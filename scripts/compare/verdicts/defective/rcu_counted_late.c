// A reader counts itself in only after it has loaded the pointer: the writer may find the count zero, and change the old table while the reader reads it.
//
// expect: race tables
// watch: shared
#include <pthread.h>
#include <stdatomic.h>

#include "fortune.h"

static long tables[2] = {1, 1};
static long *_Atomic current = &tables[0];
static atomic_int readers;
static long seen;

static void *reads(void *unused) {
	int which = atomic_load(&current) != &tables[0];
	chance();
	atomic_fetch_add(&readers, 1);
	seen += which ? tables[1] : tables[0];
	atomic_fetch_sub(&readers, 1);
	return unused;
}

static void *writes(void *unused) {
	later(1);
	tables[1] = 2;
	atomic_store(&current, &tables[1]);
	chance();
	while (atomic_load(&readers))
		nanoseconds(100000);
	tables[0] = 0;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, reads, 0);
	pthread_create(&u, 0, writes, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return seen == 0;
}
