#include "say.h"

/* Locks that no C library knows: a spin lock, and one with readers. */

struct spin {
	int guard; /* the lock is not the first member */
	volatile int taken;
};

__attribute__((noinline)) void my_lock(int why, struct spin *s)
{
	while (__atomic_exchange_n(&s->taken, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

__attribute__((noinline)) _Bool my_try(struct spin *s)
{
	return !__atomic_exchange_n(&s->taken, 1, __ATOMIC_ACQUIRE);
}

__attribute__((noinline)) void my_unlock(struct spin *s) { __atomic_store_n(&s->taken, 0, __ATOMIC_RELEASE); }

/* A lock made of another: its own event, and the other's. */
struct outer {
	int number;
	pthread_mutex_t inner;
};

__attribute__((noinline)) int outer_lock(struct outer *o)
{
	int err = pthread_mutex_lock(&o->inner);

	o->number++;
	return err;
}

__attribute__((noinline)) void outer_unlock(struct outer *o)
{
	o->number--;
	pthread_mutex_unlock(&o->inner);
}

static struct spin s;
static struct outer o = {.inner = PTHREAD_MUTEX_INITIALIZER};
static long sum;

static void *body(void *name)
{
	i_am(name);
	for (int i = 0; i < 500; i++) {
		my_lock(i, &s);
		say("acquire s");
		sum++;
		say("release s");
		my_unlock(&s);
	}
	return NULL;
}

int main(void)
{
	pthread_t t, u;

	name_is(&s, "s");
	name_is(&o, "o");
	name_is(&o.inner, "inner");
	t = start(body, "T1", "T1");
	u = start(body, "T2", "T2");
	join(t, "T1");
	join(u, "T2");
	MUST(sum == 1000);
	MUST(my_try(&s));
	say("acquire s try");
	MUST(!my_try(&s));
	say("acquire-failed s try");
	say("release s");
	my_unlock(&s);
	MUST(outer_lock(&o) == 0);
	say("acquire inner");
	say("acquire o");
	say("release o");
	say("release inner");
	outer_unlock(&o);
	return 0;
}
