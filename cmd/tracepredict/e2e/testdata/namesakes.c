#include "say.h"

/*
 * Functions of the program with names of the C library's and other meanings: a
 * semaphore that is a counter with a name, statistics, a list of conditions, a
 * thread that is a sewing thread. All but POSIX mutexes and threads is none of
 * the table's business.
 */
struct sem {
	const char *name;
	long n;
};

static __thread struct sem s;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static __thread long locked[2];

#define OWN(result, function, arguments)                        \
	result own_##function arguments __asm__(#function);     \
	__attribute__((noinline)) result own_##function arguments

OWN(void, sem_init, (struct sem *sem, const char *name)) { sem->name = name; sem->n = 1; }
OWN(int, sem_wait, (struct sem *sem)) { return --sem->n < 0; }
OWN(void, sem_post, (struct sem *sem)) { sem->n++; }
OWN(void, sem_destroy, (struct sem *sem)) { sem->name = NULL; }
OWN(long, mtx_lock, (long *statistics)) { return ++*statistics - *statistics; }
OWN(long, mtx_trylock, (long *statistics)) { return *statistics < 0; }
OWN(int, cnd_wait, (int seconds, long *statistics)) { return seconds - (int)*statistics; }
OWN(int, cnd_signal, (int condition)) { return condition > 3; }
OWN(int, thrd_create, (struct sem *colour, const char *length)) { return colour->name == length; }
OWN(int, thrd_join, (struct sem *one, struct sem *other)) { return one != other; }
OWN(void, call_once, (void (*f)(void))) { f(); }
OWN(int, pthread_once, (int *times, int limit)) { return ++*times > limit; }
OWN(int, pthread_spin_lock, (const char *wheel)) { return wheel[0] == 'w'; }

static void once(void) { s.n++; }

static void *worker(void *order)
{
	int times = 0, other = order == NULL;

	i_am(other ? "T2" : "T1");
	own_sem_init(&s, "work");
	own_sem_wait(&s);
	own_mtx_lock(&locked[other]);
	own_mtx_lock(&locked[!other]);
	pthread_mutex_lock(&m);
	say("acquire m");
	own_mtx_lock(&locked[other]);
	own_mtx_trylock(&locked[other]);
	own_cnd_wait(1, locked);
	own_cnd_signal(2);
	own_call_once(once);
	own_pthread_once(&times, 1);
	own_pthread_spin_lock("wheel");
	own_sem_wait(&s);
	say("release m");
	pthread_mutex_unlock(&m);
	own_thrd_create(&s, "red");
	own_thrd_join(&s, &s);
	own_sem_post(&s);
	own_sem_destroy(&s);
	return NULL;
}

int main(void)
{
	name_is(&m, "m");
	pthread_t t = start(worker, "T1", &m);
	join(t, "T1");
	t = start(worker, "T2", NULL);
	join(t, "T2");
	return 0;
}
