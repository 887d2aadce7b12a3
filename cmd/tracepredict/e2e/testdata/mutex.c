#include "say.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, rec, chk, made;
static volatile int step;

static void *holder(void *arg)
{
	i_am("T1");
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	tell(&step, 1);
	await(&step, 2);
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	return arg;
}

static void attempts_that_fail(void)
{
	struct timespec soon = from_now(CLOCK_REALTIME, 5);

	await(&step, 1);
	MUST(pthread_mutex_trylock(&m) == EBUSY);
	say("acquire-failed m try");
	MUST(pthread_mutex_timedlock(&m, &soon) == ETIMEDOUT);
	say("acquire-failed m timed");
#ifdef __GLIBC__
	soon = from_now(CLOCK_MONOTONIC, 5);
	MUST(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
	say("acquire-failed m timed");
#endif
	tell(&step, 2);
}

static void attempts_that_succeed(void)
{
	struct timespec late = from_now(CLOCK_REALTIME, 100000);

	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	MUST(pthread_mutex_trylock(&m) == 0);
	say("acquire m try");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	MUST(pthread_mutex_timedlock(&m, &late) == 0);
	say("acquire m timed");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
#ifdef __GLIBC__
	late = from_now(CLOCK_MONOTONIC, 100000);
	MUST(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &late) == 0);
	say("acquire m timed");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
#endif
}

static void init(pthread_mutex_t *x, int type, const char *name)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	name_is(x, name);
	say("init %s", name);
	MUST(pthread_mutex_init(x, &a) == 0);
}

static void recursive(void)
{
	init(&rec, PTHREAD_MUTEX_RECURSIVE, "rec");
	MUST(pthread_mutex_lock(&rec) == 0);
	say("acquire rec"); /* depth 3 is one acquisition, one release */
	MUST(pthread_mutex_trylock(&rec) == 0);
	MUST(pthread_mutex_lock(&rec) == 0);
	MUST(pthread_mutex_unlock(&rec) == 0);
	MUST(pthread_mutex_unlock(&rec) == 0);
	say("release rec");
	MUST(pthread_mutex_unlock(&rec) == 0);
	MUST(pthread_mutex_lock(&rec) == 0);
	say("acquire rec");
	say("release rec");
	MUST(pthread_mutex_unlock(&rec) == 0);
}

static void errorcheck(void)
{
	init(&chk, PTHREAD_MUTEX_ERRORCHECK, "chk");
	MUST(pthread_mutex_lock(&chk) == 0);
	say("acquire chk");
	MUST(pthread_mutex_lock(&chk) == EDEADLK);
	say("acquire-failed chk");
	say("release chk");
	MUST(pthread_mutex_unlock(&chk) == 0);
	say("release-unheld chk");
	MUST(pthread_mutex_unlock(&chk) == EPERM);
	line("unheld", "chk", "");
}

static void again_at_the_same_address(void)
{
	init(&made, PTHREAD_MUTEX_NORMAL, "made1");
	MUST(pthread_mutex_lock(&made) == 0);
	say("acquire made1");
	say("release made1");
	MUST(pthread_mutex_unlock(&made) == 0);
	say("destroy made1");
	MUST(pthread_mutex_destroy(&made) == 0);
	init(&made, PTHREAD_MUTEX_NORMAL, "made2");
	MUST(pthread_mutex_lock(&made) == 0);
	say("acquire made2");
	say("release made2");
	MUST(pthread_mutex_unlock(&made) == 0);
	init(&made, PTHREAD_MUTEX_NORMAL, "made3"); /* without destroying */
	MUST(pthread_mutex_trylock(&made) == 0);
	say("acquire made3 try");
	say("release made3");
	MUST(pthread_mutex_unlock(&made) == 0);
}

int main(void)
{
	name_is(&m, "m");
	pthread_t t = start(holder, "T1", NULL);
	attempts_that_fail();
	join(t, "T1");
	attempts_that_succeed();
	recursive();
	errorcheck();
	again_at_the_same_address();
	return 0;
}
