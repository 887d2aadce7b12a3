// A mtx_t is locked again by its owner inside another one, in what looks like the opposite order, but it is recursive.
#include "turns.h"
#include <threads.h>

static mtx_t outer, inner;

static int works(void *unused) {
	mtx_lock(&outer);
	mtx_lock(&inner);
	mtx_lock(&outer);
	mtx_unlock(&outer);
	mtx_unlock(&inner);
	mtx_unlock(&outer);
	return 0;
}

int main(void) {
	mtx_init(&outer, mtx_plain | mtx_recursive);
	mtx_init(&inner, mtx_plain);
	thrd_t s, t;
	thrd_create(&s, works, NULL);
	thrd_create(&t, works, NULL);
	thrd_join(s, NULL);
	thrd_join(t, NULL);
	mtx_destroy(&outer);
	mtx_destroy(&inner);
	return 0;
}
