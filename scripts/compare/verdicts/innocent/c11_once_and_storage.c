// Each C11 thread reads what another wrote under no lock, but in call_once; and the destructor of its own storage runs before thrd_join returns.
// watch: limit, freed
#include "turns.h"
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int limit, freed;
static mtx_t lock;

static void frees(void *p) {
	mtx_lock(&lock);
	freed++;
	mtx_unlock(&lock);
	free(p);
}

static void begins(void) {
	limit = 3;
	tss_create(&key, frees);
}

static int works(void *unused) {
	call_once(&once, begins);
	tss_set(key, malloc(8));
	return limit;
}

int main(void) {
	mtx_init(&lock, mtx_plain);
	thrd_t s, t;
	int x, y;
	thrd_create(&s, works, NULL);
	thrd_create(&t, works, NULL);
	thrd_join(s, &x);
	thrd_join(t, &y);
	mtx_destroy(&lock);
	tss_delete(key);
	return x + y != 6 || freed != 2;
}
