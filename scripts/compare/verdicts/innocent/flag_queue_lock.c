// Plain data under no known lock, but under an MCS lock: each thread spins on a flag in its own node, on its stack, until its predecessor clears it.
// watch: total
#include "turns.h"
#include <stdatomic.h>

struct node {
	struct node *_Atomic next;
	atomic_int blocked;
};

static struct node *_Atomic tail;
static long total;

static void enter(struct node *me) {
	atomic_init(&me->next, NULL);
	atomic_init(&me->blocked, 1);
	struct node *before = atomic_exchange(&tail, me);
	if (!before)
		return;
	atomic_store(&before->next, me);
	while (atomic_load(&me->blocked))
		rest(1);
}

static void leave(struct node *me) {
	struct node *mine = me, *after = atomic_load(&me->next);
	if (!after && atomic_compare_exchange_strong(&tail, &mine, NULL))
		return;
	while (!(after = atomic_load(&me->next)))
		;
	atomic_store(&after->blocked, 0);
}

static void *adds(void *unused) {
	for (int i = 0; i < 4; i++) {
		struct node me;
		enter(&me);
		total++;
		rest(1);
		leave(&me);
	}
	return unused;
}

int main(void) {
	both(adds, adds);
	return total != 8;
}
