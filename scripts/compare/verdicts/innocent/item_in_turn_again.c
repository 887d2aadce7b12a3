// Two items take turns in a slot under a mutex, and each is changed, under no lock, only by the thread that has taken it from there: an item's address is in the slot again and again, after other threads had it.
#include "turns.h"

struct item {
	long uses;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *slot;

static struct item *swap(struct item *with) {
	pthread_mutex_lock(&lock);
	struct item *i = slot;
	slot = with;
	pthread_mutex_unlock(&lock);
	return i;
}

static void *uses(void *p) {
	struct item *mine = calloc(1, sizeof *mine);
	rest(10 * (long)p);
	for (int n = 0; n < 5; n++) {
		mine = swap(mine);
		mine->uses++;
		rest(20);
	}
	return mine;
}

int main(void) {
	slot = calloc(1, sizeof *slot);
	pthread_t s = start(uses, (void *)0), t = start(uses, (void *)1);
	void *a, *b;
	pthread_join(s, &a);
	pthread_join(t, &b);
	return ((struct item *)a)->uses + ((struct item *)b)->uses + slot->uses != 10;
}
