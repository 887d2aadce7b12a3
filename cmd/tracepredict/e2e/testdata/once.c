#include "say.h"

static pthread_once_t o = PTHREAD_ONCE_INIT;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int step;
static __thread int mine;

/* Runs until the other thread has said that it calls too. */
static void initialise(void)
{
	mine = 1;
	tell(&step, 1);
	await(&step, 2);
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
}

static void call(void)
{
	mine = 0;
	say("once-enter o");
	MUST(pthread_once(&o, initialise) == 0);
	say(mine ? "once-done o" : "once-leave o");
}

static void *other(void *arg)
{
	i_am("T1");
	await(&step, 1);
	tell(&step, 2);
	call();
	call();
	return arg;
}

int main(void)
{
	pthread_t t;

	name_is(&o, "o");
	name_is(&m, "m");
	t = start(other, "T1", NULL);
	call();
	join(t, "T1");
	call();
	return 0;
}
