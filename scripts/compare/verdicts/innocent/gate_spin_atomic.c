// Two threads nest mutexes in opposite orders, but inside a spin lock of their own (atomic_flag), which one holds until it is through.
// watch: total
#include "turns.h"
#include <stdatomic.h>

static atomic_flag gate = ATOMIC_FLAG_INIT;
static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void section(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	while (atomic_flag_test_and_set_explicit(&gate, memory_order_acquire))
		rest(1);
	nest(outer, inner);
	total++;
	atomic_flag_clear_explicit(&gate, memory_order_release);
}

static void *forth(void *unused) {
	section(&p, &q);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	section(&q, &p);
	return unused;
}

int main(void) {
	both(forth, back);
	return total != 2;
}
