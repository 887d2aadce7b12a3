#include "say.h"

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER, made;
static volatile int step;

/* Holds it for writing in step 1, for reading in step 3. */
static void *holder(void *arg)
{
	i_am("T1");
	MUST(pthread_rwlock_wrlock(&rw) == 0);
	say("acquire rw");
	tell(&step, 1);
	await(&step, 2);
	say("release rw");
	MUST(pthread_rwlock_unlock(&rw) == 0);
	MUST(pthread_rwlock_rdlock(&rw) == 0);
	say("acquire-read rw");
	tell(&step, 3);
	await(&step, 4);
	say("release rw");
	MUST(pthread_rwlock_unlock(&rw) == 0);
	return arg;
}

static void against_a_writer(void)
{
	struct timespec soon = from_now(CLOCK_REALTIME, 5);

	await(&step, 1);
	MUST(pthread_rwlock_tryrdlock(&rw) == EBUSY);
	say("acquire-failed rw try");
	MUST(pthread_rwlock_trywrlock(&rw) == EBUSY);
	say("acquire-failed rw try");
	MUST(pthread_rwlock_timedrdlock(&rw, &soon) == ETIMEDOUT);
	say("acquire-failed rw timed");
	MUST(pthread_rwlock_timedwrlock(&rw, &soon) == ETIMEDOUT);
	say("acquire-failed rw timed");
#ifdef __GLIBC__
	soon = from_now(CLOCK_MONOTONIC, 5);
	MUST(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
	say("acquire-failed rw timed");
	MUST(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
	say("acquire-failed rw timed");
#endif
	tell(&step, 2);
}

static void against_a_reader(void)
{
	await(&step, 3);
	MUST(pthread_rwlock_trywrlock(&rw) == EBUSY);
	say("acquire-failed rw try");
	MUST(pthread_rwlock_rdlock(&rw) == 0);
	say("acquire-read rw");
	say("release rw");
	MUST(pthread_rwlock_unlock(&rw) == 0);
	tell(&step, 4);
}

static void release(void)
{
	say("release rw");
	MUST(pthread_rwlock_unlock(&rw) == 0);
}

static void alone(void)
{
	struct timespec late = from_now(CLOCK_REALTIME, 100000);

	MUST(pthread_rwlock_tryrdlock(&rw) == 0);
	say("acquire-read rw try");
	release();
	MUST(pthread_rwlock_trywrlock(&rw) == 0);
	say("acquire rw try");
	release();
	MUST(pthread_rwlock_timedrdlock(&rw, &late) == 0);
	say("acquire-read rw timed");
	release();
	MUST(pthread_rwlock_timedwrlock(&rw, &late) == 0);
	say("acquire rw timed");
	release();
#ifdef __GLIBC__
	late = from_now(CLOCK_MONOTONIC, 100000);
	MUST(pthread_rwlock_clockrdlock(&rw, CLOCK_MONOTONIC, &late) == 0);
	say("acquire-read rw timed");
	release();
	MUST(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &late) == 0);
	say("acquire rw timed");
	release();
	MUST(pthread_rwlock_wrlock(&rw) == 0);
	say("acquire rw");
	MUST(pthread_rwlock_rdlock(&rw) == EDEADLK);
	say("acquire-failed rw");
	release();
#endif
	MUST(pthread_rwlock_rdlock(&rw) == 0);
	say("acquire-read rw"); /* twice by one thread: the outer one takes it */
	MUST(pthread_rwlock_rdlock(&rw) == 0);
	say("acquire-again rw");
	MUST(pthread_rwlock_unlock(&rw) == 0);
	release();
}

static void lifetime(const char *name)
{
	name_is(&made, name);
	say("init %s", name);
	MUST(pthread_rwlock_init(&made, NULL) == 0);
	MUST(pthread_rwlock_rdlock(&made) == 0);
	say("acquire-read %s", name);
	say("release %s", name);
	MUST(pthread_rwlock_unlock(&made) == 0);
	say("destroy %s", name);
	MUST(pthread_rwlock_destroy(&made) == 0);
}

int main(void)
{
	name_is(&rw, "rw");
	pthread_t t = start(holder, "T1", NULL);
	against_a_writer();
	against_a_reader();
	join(t, "T1");
	alone();
	lifetime("made1");
	lifetime("made2");
	return 0;
}
