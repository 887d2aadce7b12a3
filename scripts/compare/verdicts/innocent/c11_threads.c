// C11 threads change plain data under a mtx_t and pass it by a cnd_t; the ring of calls looks as with pthreads, and is as right.
// watch: items
#include "turns.h"
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static int items;

static int puts_in(void *unused) {
	for (int i = 0; i < 4; i++) {
		mtx_lock(&lock);
		items++;
		cnd_signal(&changed);
		mtx_unlock(&lock);
		rest(2);
	}
	return 0;
}

static int takes_out(void *unused) {
	for (int i = 0; i < 4; i++) {
		mtx_lock(&lock);
		while (!items)
			cnd_wait(&changed, &lock);
		items--;
		mtx_unlock(&lock);
	}
	return 0;
}

int main(void) {
	mtx_init(&lock, mtx_plain);
	cnd_init(&changed);
	thrd_t s, t;
	thrd_create(&s, takes_out, NULL);
	thrd_create(&t, puts_in, NULL);
	thrd_join(s, NULL);
	thrd_join(t, NULL);
	cnd_destroy(&changed);
	mtx_destroy(&lock);
	return items;
}
