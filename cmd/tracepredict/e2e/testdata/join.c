#include "say.h"

static volatile int step;

static void *sleeper(void *name)
{
	i_am(name);
	await(&step, 1);
	return NULL;
}

static void *leaver(void *name)
{
	i_am(name);
	pthread_exit(NULL);
}

static void *detached(void *name)
{
	i_am(name);
	await(&step, 2);
	tell(&step, 3);
	return NULL;
}

static void failures(pthread_t t)
{
	struct timespec soon = from_now(CLOCK_REALTIME, 5);

	MUST(pthread_tryjoin_np(t, NULL) == EBUSY);
	MUST(pthread_timedjoin_np(t, NULL, &soon) == ETIMEDOUT);
#ifdef __GLIBC__
	soon = from_now(CLOCK_MONOTONIC, 5);
	MUST(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
#endif
	say("join-failed main");
	MUST(pthread_join(pthread_self(), NULL) == EDEADLK);
}

static void tried(void)
{
	pthread_t t = start(leaver, "T2", "T2");
	int err;

	while ((err = pthread_tryjoin_np(t, NULL)) == EBUSY)
		sched_yield();
	MUST(err == 0);
	say("join T2");
}

static void timed(void)
{
	struct timespec late = from_now(CLOCK_REALTIME, 100000);
	pthread_t t = start(leaver, "T3", "T3");

	MUST(pthread_timedjoin_np(t, NULL, &late) == 0);
	say("join T3");
#ifdef __GLIBC__
	late = from_now(CLOCK_MONOTONIC, 100000);
	t = start(leaver, "T4", "T4");
	MUST(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &late) == 0);
	say("join T4");
#endif
}

int main(void)
{
	pthread_t t = start(sleeper, "T1", "T1");

#ifdef __GLIBC__
	failures(t);
#endif
	tell(&step, 1);
	join(t, "T1");
	tried();
	timed();
	t = start(detached, "T5", "T5");
	say("detach T5");
	MUST(pthread_detach(t) == 0);
	tell(&step, 2);
	await(&step, 3);
	return 0;
}
