#include "say.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, made;
static int ready; /* under m */
static volatile int woken;

static void lock(void)
{
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
}

static void unlock(void)
{
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
}

enum how { PLAIN, TIMED, CLOCK };

static int wait_for(enum how how, long ms)
{
	struct timespec end = from_now(how == CLOCK ? CLOCK_MONOTONIC : CLOCK_REALTIME, ms);
	int err;

	say("release m in-wait");
	say(how == PLAIN ? "wait c m" : "wait c m timed");
	switch (how) {
	case PLAIN:
		err = pthread_cond_wait(&c, &m);
		break;
#ifdef __GLIBC__
	case CLOCK:
		err = pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &end);
		break;
#endif
	default:
		err = pthread_cond_timedwait(&c, &m, &end);
	}
	MUST(err == 0 || err == ETIMEDOUT);
	say(err ? "wake c m timed-out" : "wake c m");
	say("acquire m in-wait");
	return err;
}

static void *waiter(void *how)
{
	static volatile int number;
	char name[20];

	sprintf(name, "T%d", __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST));
	i_am(name);
	lock();
	__atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST); /* main may signal once it has m */
	while (!ready)
		wait_for(*(enum how *)how, 100000);
	ready--;
	unlock();
	return NULL;
}

static void wake_one(enum how how, const char *name)
{
	int before = woken;
	pthread_t t = start(waiter, name, &how);

	await(&woken, before + 1);
	lock();
	ready = 1;
	say("signal c");
	MUST(pthread_cond_signal(&c) == 0);
	unlock();
	join(t, name);
}

static void wake_all(void)
{
	enum how how = PLAIN;
	pthread_t t, u;

	woken = 0;
	t = start(waiter, "T4", &how);
	await(&woken, 1);
	u = start(waiter, "T5", &how);
	await(&woken, 2);
	lock();
	ready = 2;
	say("broadcast c");
	MUST(pthread_cond_broadcast(&c) == 0);
	unlock();
	join(t, "T4");
	join(u, "T5");
}

int main(void)
{
	name_is(&m, "m");
	name_is(&c, "c");
	lock();
	while (wait_for(TIMED, 5) == 0)
		;
	while (wait_for(CLOCK, 5) == 0)
		;
	unlock();
	wake_one(PLAIN, "T1");
	wake_one(TIMED, "T2");
	wake_one(CLOCK, "T3");
	wake_all();
	say("signal c"); /* nobody waits */
	pthread_cond_signal(&c);
	for (int i = 1; i <= 2; i++) {
		name_is(&made, i == 1 ? "made1" : "made2");
		say("init made%d", i);
		MUST(pthread_cond_init(&made, NULL) == 0);
		say("broadcast made%d", i);
		MUST(pthread_cond_broadcast(&made) == 0);
		say("destroy made%d", i);
		MUST(pthread_cond_destroy(&made) == 0);
	}
	return 0;
}
