/*
 * A library that is loaded before the C library and hands on what it is called
 * for, as sanitizers' and profilers' libraries do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))
#define HAND_ON(function, parameters, arguments) \
	int function parameters                  \
	{                                        \
		int r = NEXT(function) arguments; \
		calls++;                         \
		return r;                        \
	}

static volatile long calls;

HAND_ON(pthread_mutex_lock, (pthread_mutex_t *m), (m))
HAND_ON(pthread_mutex_trylock, (pthread_mutex_t *m), (m))
HAND_ON(pthread_mutex_timedlock, (pthread_mutex_t *m, const struct timespec *t), (m, t))
HAND_ON(pthread_mutex_unlock, (pthread_mutex_t *m), (m))
HAND_ON(pthread_mutex_init, (pthread_mutex_t *m, const pthread_mutexattr_t *a), (m, a))
HAND_ON(pthread_mutex_destroy, (pthread_mutex_t *m), (m))
HAND_ON(pthread_cond_signal, (pthread_cond_t *c), (c))
HAND_ON(pthread_cond_broadcast, (pthread_cond_t *c), (c))
HAND_ON(sem_wait, (sem_t *s), (s))
HAND_ON(sem_trywait, (sem_t *s), (s))
HAND_ON(sem_post, (sem_t *s), (s))
HAND_ON(sem_init, (sem_t *s, int shared, unsigned value), (s, shared, value))
HAND_ON(pthread_join, (pthread_t t, void **result), (t, result))
HAND_ON(pthread_detach, (pthread_t t), (t))

struct begin {
	void *(*f)(void *);
	void *arg;
};

static void *begin(void *p)
{
	struct begin *b = p;

	return b->f(b->arg);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	static __thread struct begin kept[64];
	static __thread int n;

	kept[n] = (struct begin){f, arg};
	return NEXT(pthread_create)(t, a, begin, &kept[n++]);
}
