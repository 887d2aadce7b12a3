// Two threads nest a block's locks in opposite orders and write its data under none, but each owns the block: an atomic flag in it says that it is taken.
// watch: slots[0].data
#include "turns.h"
#include <stdatomic.h>

static struct slot {
	atomic_flag taken;
	pthread_mutex_t a, b;
	long data;
} slots[2] = {{ATOMIC_FLAG_INIT, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0},
              {ATOMIC_FLAG_INIT, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0}};

static struct slot *take(void) {
	for (int i = 0;; i = !i)
		if (!atomic_flag_test_and_set(&slots[i].taken))
			return &slots[i];
}

static void *forth(void *unused) {
	struct slot *s = take();
	nest(&s->a, &s->b);
	s->data++;
	atomic_flag_clear(&s->taken);
	return unused;
}

static void *back(void *unused) {
	rest(20);
	struct slot *s = take();
	nest(&s->b, &s->a);
	s->data++;
	atomic_flag_clear(&s->taken);
	return unused;
}

int main(void) {
	both(forth, back);
	return 0;
}
