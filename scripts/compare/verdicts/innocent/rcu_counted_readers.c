// The old table is changed under no lock after the new one is published, but the writer first waits until the count of readers inside is zero.
// watch: shared
#include "turns.h"
#include <stdatomic.h>

static long tables[2] = {1, 1};
static atomic_int active, inside[2];

static void *reads(void *unused) {
	for (int i = 0; i < 8; i++, rest(2)) {
		int which;
		for (;;) {
			which = atomic_load(&active);
			atomic_fetch_add(&inside[which], 1);
			if (which == atomic_load(&active))
				break;
			atomic_fetch_sub(&inside[which], 1);
		}
		long v = tables[which];
		atomic_fetch_sub(&inside[which], 1);
		need(v > 0, "value");
	}
	return unused;
}

static void *writes(void *unused) {
	for (int i = 0; i < 4; i++, rest(3)) {
		int old = atomic_load(&active);
		while (atomic_load(&inside[!old]))
			rest(1);
		tables[!old]++;
		atomic_store(&active, !old);
	}
	return unused;
}

int main(void) {
	pthread_t t = start(reads, NULL);
	both(reads, writes);
	pthread_join(t, NULL);
	return 0;
}
