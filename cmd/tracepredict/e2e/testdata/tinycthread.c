/*
 * What c11.c does, with a program's own C11 threads: wrappers of POSIX threads
 * that have the C library's names, as TinyCThread has them.
 */
#include "c11.c"

#define PTHREAD(kind, p) ((pthread_##kind##_t *)(p))

static int result(int err)
{
	return err == 0 ? thrd_success : err == EBUSY ? thrd_busy : err == ETIMEDOUT ? thrd_timedout : thrd_error;
}

int mtx_init(mtx_t *m, int type)
{
	(void)type;
	return result(pthread_mutex_init(PTHREAD(mutex, m), NULL));
}

void mtx_destroy(mtx_t *m) { pthread_mutex_destroy(PTHREAD(mutex, m)); }
int mtx_lock(mtx_t *m) { return result(pthread_mutex_lock(PTHREAD(mutex, m))); }
int mtx_trylock(mtx_t *m) { return result(pthread_mutex_trylock(PTHREAD(mutex, m))); }
int mtx_timedlock(mtx_t *m, const struct timespec *t) { return result(pthread_mutex_timedlock(PTHREAD(mutex, m), t)); }
int mtx_unlock(mtx_t *m) { return result(pthread_mutex_unlock(PTHREAD(mutex, m))); }
int cnd_init(cnd_t *c) { return result(pthread_cond_init(PTHREAD(cond, c), NULL)); }
void cnd_destroy(cnd_t *c) { pthread_cond_destroy(PTHREAD(cond, c)); }
int cnd_signal(cnd_t *c) { return result(pthread_cond_signal(PTHREAD(cond, c))); }
int cnd_broadcast(cnd_t *c) { return result(pthread_cond_broadcast(PTHREAD(cond, c))); }
int cnd_wait(cnd_t *c, mtx_t *m) { return result(pthread_cond_wait(PTHREAD(cond, c), PTHREAD(mutex, m))); }

int cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *t)
{
	return result(pthread_cond_timedwait(PTHREAD(cond, c), PTHREAD(mutex, m), t));
}

void call_once(once_flag *o, void (*f)(void)) { pthread_once((pthread_once_t *)o, f); }

struct begin {
	thrd_start_t f;
	void *arg;
};

static void *begin(void *p)
{
	struct begin b = *(struct begin *)p;

	free(p);
	return (void *)(intptr_t)b.f(b.arg);
}

int thrd_create(thrd_t *t, thrd_start_t f, void *arg)
{
	struct begin *b = malloc(sizeof *b);

	*b = (struct begin){f, arg};
	return result(pthread_create((pthread_t *)t, NULL, begin, b));
}

int thrd_join(thrd_t t, int *res)
{
	void *got;
	int err = pthread_join((pthread_t)t, &got);

	if (res)
		*res = (int)(intptr_t)got;
	return result(err);
}

int thrd_detach(thrd_t t) { return result(pthread_detach((pthread_t)t)); }
void thrd_exit(int res) { pthread_exit((void *)(intptr_t)res); }
