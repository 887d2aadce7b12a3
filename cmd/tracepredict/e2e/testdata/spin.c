#include "say.h"

static pthread_spinlock_t s;
static volatile int step;

static void *holder(void *arg)
{
	i_am("T1");
	MUST(pthread_spin_lock(&s) == 0);
	say("acquire s1");
	tell(&step, 1);
	await(&step, 2);
	say("release s1");
	MUST(pthread_spin_unlock(&s) == 0);
	return arg;
}

/* Where the two are one function (glibc 2.36), the making is not told. */
static void make(const char *name)
{
	name_is(&s, name);
	if ((void *)pthread_spin_init != (void *)pthread_spin_unlock)
		say("init %s", name);
	MUST(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE) == 0);
}

int main(void)
{
	pthread_t t;

	make("s1");
	t = start(holder, "T1", NULL);
	await(&step, 1);
	MUST(pthread_spin_trylock(&s) == EBUSY);
	say("acquire-failed s1 try");
	tell(&step, 2);
	MUST(pthread_spin_lock(&s) == 0);
	say("acquire s1");
	say("release s1");
	MUST(pthread_spin_unlock(&s) == 0);
	MUST(pthread_spin_trylock(&s) == 0);
	say("acquire s1 try");
	say("release s1");
	MUST(pthread_spin_unlock(&s) == 0);
	join(t, "T1");
	make("s2"); /* without destroying it */
	MUST(pthread_spin_lock(&s) == 0);
	say("acquire s2");
	say("release s2");
	MUST(pthread_spin_unlock(&s) == 0);
	return 0;
}
