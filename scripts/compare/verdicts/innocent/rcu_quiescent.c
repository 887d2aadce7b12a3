// A version is freed while readers use versions under no lock, but only after every reader has announced a quiescent state later than the exchange.
// watch: value of struct version
#include "turns.h"
#include <stdatomic.h>

struct version { long value; };

static struct version *_Atomic current;
static atomic_ulong epoch = 1, seen[2];
static atomic_int stop;

static void *reads(void *p) {
	long me = (long)p;
	while (!atomic_load(&stop)) {
		struct version *v = atomic_load(&current);
		need(v->value > 0, "freed");
		rest(1);
		atomic_store(&seen[me], atomic_load(&epoch)); // quiescent: v is not used behind this
	}
	atomic_store(&seen[me], -1UL);
	return NULL;
}

int main(void) {
	struct version *v = malloc(sizeof *v);
	v->value = 1;
	atomic_store(&current, v);
	pthread_t s = start(reads, (void *)0), t = start(reads, (void *)1);
	for (long i = 2; i < 8; i++) {
		v = malloc(sizeof *v);
		v->value = i;
		struct version *old = atomic_exchange(&current, v);
		unsigned long now = atomic_fetch_add(&epoch, 1) + 1;
		for (int r = 0; r < 2; r++)
			while (atomic_load(&seen[r]) < now)
				rest(1);
		old->value = 0;
		free(old);
	}
	atomic_store(&stop, 1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	free(current);
	return 0;
}
