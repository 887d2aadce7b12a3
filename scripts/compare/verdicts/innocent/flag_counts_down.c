// main reads what detached threads wrote, without join or lock, but an atomic counter on the heap says that the last one is through.
// watch: parts[0], parts[1]
#include "turns.h"
#include <stdatomic.h>

static long parts[2];
static atomic_int *left;

static void *part0(void *unused) {
	parts[0] = 20;
	atomic_fetch_sub_explicit(left, 1, memory_order_acq_rel);
	return unused;
}

static void *part1(void *unused) {
	parts[1] = 22;
	atomic_fetch_sub_explicit(left, 1, memory_order_acq_rel);
	return unused;
}

int main(void) {
	left = malloc(sizeof *left);
	atomic_init(left, 2);
	pthread_detach(start(part0, NULL));
	pthread_detach(start(part1, NULL));
	while (atomic_load_explicit(left, memory_order_acquire))
		rest(2);
	return parts[0] + parts[1] != 42;
}
