#include "say.h"

/* Linked against glibc's conditions of before 2003, whose functions are others
 * than today's and keep the condition elsewhere. */

__asm__(".symver pthread_cond_wait,pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_timedwait,pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_signal,pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver pthread_cond_broadcast,pthread_cond_broadcast@GLIBC_2.2.5");

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static union {
	pthread_cond_t c;
	void *there; /* where it is, once it has been used */
} old;
static volatile int id;
static int ready;

static void wait(void)
{
	int err = 0;

	say("release m in-wait");
	say(ready < 0 ? "wait c m timed" : "wait c m");
	if (ready < 0) {
		struct timespec end = from_now(CLOCK_REALTIME, 5);

		err = pthread_cond_timedwait(&old.c, &m, &end);
	} else {
		pthread_cond_wait(&old.c, &m);
	}
	say(err ? "wake c m timed-out" : "wake c m");
	say("acquire m in-wait");
	if (err)
		ready = 0;
}

static void *waiter(void *arg)
{
	i_am("T1");
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	tell(&id, 1);
	while (!ready)
		wait();
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	return NULL;
}

int main(void)
{
	pthread_t t;

	name_is(&m, "m");
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	ready = -1;
	while (ready < 0)
		wait();
	name_is(old.there, "c");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	t = start(waiter, "T1", NULL);
	await(&id, 1);
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	ready = 1;
	say("signal c");
	pthread_cond_signal(&old.c);
	say("broadcast c");
	pthread_cond_broadcast(&old.c);
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	join(t, "T1");
	return 0;
}
