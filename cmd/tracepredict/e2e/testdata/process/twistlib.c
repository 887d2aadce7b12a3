// A library with locks of its own making, known by a table of the user's.
#include "twist.h"

struct own_lock {
	pthread_spinlock_t gate;
};

static struct own_lock north, south;

__attribute__((noinline)) int own_take(struct own_lock *l) {
	while (l->gate == 2)
		nap();
	l->gate = 2;
	return 0;
}

__attribute__((noinline)) int own_give(struct own_lock *l) {
	l->gate = 1;
	return 0;
}

static void *north_first(void *unused) {
	own_take(&north);
	own_take(&south);
	own_give(&south);
	own_give(&north);
	return unused;
}

static void *south_first(void *unused) {
	later();
	own_take(&south);
	own_take(&north);
	own_give(&north);
	own_give(&south);
	return unused;
}

void lib_twist(void) {
	pthread_t a, b;
	pthread_create(&a, NULL, north_first, NULL);
	pthread_create(&b, NULL, south_first, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}
