/*
 * Two threads, one after the other, call mtx_lock for two objects in opposite
 * orders. COUNTS: it is a statistic of the program's own. WRAPS: it wraps a
 * POSIX mutex. LIBRARY: it is the C library's.
 */
#include <pthread.h>
#include <sched.h>

#ifdef LIBRARY
#include <threads.h>
#elif defined(WRAPS)
typedef pthread_mutex_t mtx_t;
__attribute__((noinline)) int mtx_lock(mtx_t *m) { return pthread_mutex_lock(m) ? 2 : 0; }
__attribute__((noinline)) int mtx_unlock(mtx_t *m) { return pthread_mutex_unlock(m) ? 2 : 0; }
#else
typedef long mtx_t;
__attribute__((noinline)) int mtx_lock(mtx_t *n) { return ++*n < 0; }
__attribute__((noinline)) int mtx_unlock(mtx_t *n) { return *n < 0; }
#endif

static mtx_t a, b;

static void *first(void *p)
{
	mtx_lock(&a);
	mtx_lock(&b);
	mtx_unlock(&b);
	mtx_unlock(&a);
	return p;
}

static void *second(void *p)
{
	mtx_lock(&b);
	mtx_lock(&a);
	mtx_unlock(&a);
	mtx_unlock(&b);
	return p;
}

static volatile int done;

static void *after(void *p)
{
	while (!done)
		sched_yield();
	return second(p);
}

int main(void)
{
	pthread_t t, u;

	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, after, 0);
	pthread_join(t, 0);
	done = 1;
	pthread_join(u, 0);
	return 0;
}
