// mtx_t are nested in opposite orders, but one thread waits for its second by mtx_timedlock and lets go of the first when the time is up.
#include "turns.h"
#include <threads.h>

static mtx_t p, q;

static int forth(void *unused) {
	mtx_lock(&p);
	mtx_lock(&q);
	mtx_unlock(&q);
	mtx_unlock(&p);
	return 0;
}

static int back(void *unused) {
	rest(15);
	for (int done = 0; !done; rest(1)) {
		struct timespec until;
		timespec_get(&until, TIME_UTC);
		until.tv_sec++;
		mtx_lock(&q);
		if ((done = mtx_timedlock(&p, &until) == thrd_success))
			mtx_unlock(&p);
		mtx_unlock(&q);
	}
	return 0;
}

int main(void) {
	mtx_init(&p, mtx_timed);
	mtx_init(&q, mtx_timed);
	thrd_t s, t;
	thrd_create(&s, forth, NULL);
	thrd_create(&t, back, NULL);
	thrd_join(s, NULL);
	thrd_join(t, NULL);
	mtx_destroy(&p);
	mtx_destroy(&q);
	return 0;
}
