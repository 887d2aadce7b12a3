// Opposite orders of two mtx_t of C11 in threads of thrd_create, which main joins after it has made
// both.
//
// expect: deadlock brush paint
#include <threads.h>

#include "fortune.h"

static mtx_t brush, paint;
static int walls;

static int outside(void *unused) {
	(void)unused;
	mtx_lock(&brush);
	chance();
	mtx_lock(&paint);
	walls++;
	mtx_unlock(&paint);
	mtx_unlock(&brush);
	return 0;
}

static int inside(void *unused) {
	(void)unused;
	later(1);
	mtx_lock(&paint);
	chance();
	mtx_lock(&brush);
	walls++;
	mtx_unlock(&brush);
	mtx_unlock(&paint);
	return 0;
}

int main(void) {
	thrd_t t, u;
	if (mtx_init(&brush, mtx_plain) || mtx_init(&paint, mtx_plain))
		return 1;
	if (thrd_create(&t, outside, 0) || thrd_create(&u, inside, 0))
		return 1;
	thrd_join(t, 0);
	thrd_join(u, 0);
	return walls != 2;
}
