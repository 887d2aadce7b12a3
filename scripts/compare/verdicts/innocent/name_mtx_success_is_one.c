// mtx_lock returns 1 and mtx_unlock is called nevertheless, but these are wrappers as in TinyCThread, for which 1 is success and 3 is busy.
// watch: total
#include "turns.h"

enum { thrd_error, thrd_success, thrd_timedout, thrd_busy };
typedef pthread_mutex_t mtx_t;

static mtx_t lock;
static long total;

__attribute__((noinline)) static int mtx_init(mtx_t *m, int type) { return pthread_mutex_init(m, NULL) ? thrd_error : thrd_success; }
__attribute__((noinline)) static int mtx_lock(mtx_t *m) { return pthread_mutex_lock(m) ? thrd_error : thrd_success; }
__attribute__((noinline)) static int mtx_trylock(mtx_t *m) { return pthread_mutex_trylock(m) ? thrd_busy : thrd_success; }
__attribute__((noinline)) static int mtx_unlock(mtx_t *m) { return pthread_mutex_unlock(m) ? thrd_error : thrd_success; }
__attribute__((noinline)) static void mtx_destroy(mtx_t *m) { pthread_mutex_destroy(m); }

static void *adds(void *unused) {
	for (int i = 0; i < 3; i++) {
		if (mtx_trylock(&lock) != thrd_success)
			need(mtx_lock(&lock) == thrd_success, "lock");
		total++;
		mtx_unlock(&lock);
		rest(2);
	}
	return unused;
}

int main(void) {
	mtx_init(&lock, 0);
	both(adds, adds);
	mtx_destroy(&lock);
	return total != 6;
}
