// mtx_destroy is called while the lock is held, and mtx_lock after it, but these count references of a texture and never destroy or block.
#include "turns.h"
#include <stdatomic.h>

struct texture { atomic_int references; };
static struct texture t = {1};

__attribute__((noinline)) int mtx_lock(struct texture *x) { return atomic_fetch_add(&x->references, 1) < 0; }
__attribute__((noinline)) int mtx_unlock(struct texture *x) { return atomic_fetch_sub(&x->references, 1) < 0; }
__attribute__((noinline)) void mtx_destroy(struct texture *x) { atomic_fetch_sub(&x->references, 1); }

static void *draws(void *unused) {
	mtx_lock(&t);
	mtx_lock(&t);
	mtx_destroy(&t);
	mtx_lock(&t);
	mtx_unlock(&t);
	mtx_unlock(&t);
	mtx_unlock(&t);
	mtx_lock(&t);
	return unused;
}

int main(void) {
	both(draws, draws);
	return atomic_load(&t.references) != 1;
}
