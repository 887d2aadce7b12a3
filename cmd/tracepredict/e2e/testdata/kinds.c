#include "say.h"

/* Each kind of mutex taken free and taken while another thread holds it, which
 * go through the library's code by different paths; and the calls that fail. */

enum { robust = 16, inherit = 32 };

static pthread_mutex_t x;
static const char *name;
static volatile int tid;

static void make(int kind)
{
	pthread_mutexattr_t a;

	MUST(pthread_mutexattr_init(&a) == 0);
	MUST(pthread_mutexattr_settype(&a, kind & 15) == 0);
	if (kind & robust)
		MUST(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) == 0);
	if (kind & inherit)
		MUST(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT) == 0);
	name_is(&x, name);
	say("init %s", name);
	MUST(pthread_mutex_init(&x, &a) == 0);
}

static void take(void)
{
	MUST(pthread_mutex_lock(&x) == 0);
	say("acquire %s", name);
	say("release %s", name);
	MUST(pthread_mutex_unlock(&x) == 0);
}

static void *waiter(void *arg)
{
	i_am(arg);
	tell(&tid, syscall(SYS_gettid));
	take();
	return arg;
}

static void contend(const char *who)
{
	MUST(pthread_mutex_lock(&x) == 0);
	say("acquire %s", name);
	tell(&tid, 0);
	pthread_t t = start(waiter, who, (void *)who);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	await_asleep(tid);
	say("release %s", name);
	MUST(pthread_mutex_unlock(&x) == 0);
	join(t, who);
}

static void each(int kind, const char *what)
{
	name = what;
	make(kind);
	take();
	contend(what);
	take();
	say("destroy %s", what);
	MUST(pthread_mutex_destroy(&x) == 0);
}

static void again(int kind, const char *what, int result)
{
	name = what;
	make(kind);
	MUST(pthread_mutex_lock(&x) == 0);
	say("acquire %s", name);
	MUST(pthread_mutex_lock(&x) == result);
	say("acquire-failed %s", name);
	say("release %s", name);
	MUST(pthread_mutex_unlock(&x) == 0);
}

#ifdef __GLIBC__
static void too_deep(void)
{
	name = "too-deep";
	make(PTHREAD_MUTEX_RECURSIVE);
	MUST(pthread_mutex_lock(&x) == 0);
	say("acquire %s", name);
	x.__data.__count = -1u;
	MUST(pthread_mutex_lock(&x) == EAGAIN);
	say("acquire-failed %s", name);
	x.__data.__count = 1;
	say("release %s", name);
	MUST(pthread_mutex_unlock(&x) == 0);
}
#endif

int main(void)
{
	each(PTHREAD_MUTEX_NORMAL, "normal");
	each(PTHREAD_MUTEX_RECURSIVE, "recursive");
	each(PTHREAD_MUTEX_ERRORCHECK, "errorcheck");
	each(PTHREAD_MUTEX_NORMAL | robust, "robust");
	each(PTHREAD_MUTEX_RECURSIVE | robust, "robust-recursive");
	each(PTHREAD_MUTEX_NORMAL | inherit, "inherit");
	again(PTHREAD_MUTEX_ERRORCHECK, "twice", EDEADLK);
	again(PTHREAD_MUTEX_ERRORCHECK | robust, "robust-twice", EDEADLK);
#ifdef __GLIBC__
	each(PTHREAD_MUTEX_ADAPTIVE_NP, "adaptive");
	again(PTHREAD_MUTEX_ERRORCHECK | inherit, "inherit-twice", EDEADLK);
	too_deep();
#endif
	return 0;
}
