#include "say.h"

static pthread_barrier_t b;
static volatile int serial;

static void meet(void)
{
	int err;

	say("barrier-arrive b");
	err = pthread_barrier_wait(&b);
	MUST(err == 0 || err == PTHREAD_BARRIER_SERIAL_THREAD);
	if (err)
		__atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
	say("barrier-depart b");
}

static void *member(void *name)
{
	i_am(name);
	for (int i = 0; i < 10; i++)
		meet();
	return NULL;
}

int main(void)
{
	pthread_t t, u;

	name_is(&b, "b");
	say("init b 3");
	MUST(pthread_barrier_init(&b, NULL, 3) == 0);
	t = start(member, "T1", "T1");
	u = start(member, "T2", "T2");
	for (int i = 0; i < 10; i++)
		meet();
	join(t, "T1");
	join(u, "T2");
	MUST(serial == 10);
	say("destroy b");
	MUST(pthread_barrier_destroy(&b) == 0);
	return 0;
}
