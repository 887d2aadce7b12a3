#include "say.h"
#include <threads.h>

static mtx_t m, timed;
static cnd_t c;
static once_flag o = ONCE_FLAG_INIT;
static volatile int step;
static int ready;
static __thread int mine;

static void initialise(void) { mine = 1; }

static void call(void)
{
	mine = 0;
	say("once-enter o");
	call_once(&o, initialise);
	say(mine ? "once-done o" : "once-leave o");
}

static int holder(void *arg)
{
	i_am("T1");
	MUST(mtx_lock(&timed) == thrd_success);
	say("acquire timed");
	tell(&step, 1);
	await(&step, 2);
	say("release timed");
	mtx_unlock(&timed);
	call();
	return 0;
}

static int waiter(void *arg)
{
	i_am("T2");
	mtx_lock(&m);
	say("acquire m");
	tell(&step, 3);
	while (!ready) {
		say("release m in-wait");
		say("wait c m");
		MUST(cnd_wait(&c, &m) == thrd_success);
		say("wake c m");
		say("acquire m in-wait");
	}
	say("release m");
	mtx_unlock(&m);
	thrd_exit(0);
}

static int detached(void *arg)
{
	i_am("T3");
	await(&step, 4); /* musl joins what has ended when it is detached */
	tell(&step, 5);
	return 0;
}

static void locks(void)
{
	struct timespec t = from_now(CLOCK_REALTIME, 5);

	await(&step, 1);
	MUST(mtx_trylock(&timed) == thrd_busy);
	say("acquire-failed timed try");
	MUST(mtx_timedlock(&timed, &t) == thrd_timedout);
	say("acquire-failed timed timed");
	tell(&step, 2);
	t = from_now(CLOCK_REALTIME, 100000);
	MUST(mtx_timedlock(&timed, &t) == thrd_success);
	say("acquire timed timed");
	say("release timed");
	mtx_unlock(&timed);
}

static void timeouts(void)
{
	int err = thrd_success;

	MUST(mtx_trylock(&m) == thrd_success);
	say("acquire m try");
	while (err == thrd_success) {
		struct timespec t = from_now(CLOCK_REALTIME, 5);

		say("release m in-wait");
		say("wait c m timed");
		err = cnd_timedwait(&c, &m, &t);
		MUST(err == thrd_success || err == thrd_timedout);
		say(err ? "wake c m timed-out" : "wake c m");
		say("acquire m in-wait");
	}
	say("release m");
	mtx_unlock(&m);
}

static void wake(void)
{
	mtx_lock(&m);
	say("acquire m");
	ready = 1;
	say("signal c");
	cnd_signal(&c);
	say("release m");
	mtx_unlock(&m);
	say("broadcast c");
	cnd_broadcast(&c);
}

int main(void)
{
	thrd_t t, u, v;

	name_is(&m, "m");
	name_is(&timed, "timed");
	name_is(&c, "c");
	name_is(&o, "o");
	say("init m");
	mtx_init(&m, mtx_plain);
	say("init timed");
	mtx_init(&timed, mtx_timed);
	say("init c");
	cnd_init(&c);
	call();
	MUST(thrd_create(&t, holder, NULL) == thrd_success);
	say("fork T1");
	locks();
	timeouts();
	MUST(thrd_create(&u, waiter, NULL) == thrd_success);
	say("fork T2");
	await(&step, 3);
	wake();
	MUST(thrd_join(t, NULL) == thrd_success);
	say("join T1");
	MUST(thrd_join(u, NULL) == thrd_success);
	say("join T2");
	MUST(thrd_create(&v, detached, NULL) == thrd_success);
	say("fork T3");
	say("detach T3");
	MUST(thrd_detach(v) == thrd_success);
	tell(&step, 4);
	await(&step, 5);
	say("destroy c");
	cnd_destroy(&c);
	say("destroy timed");
	mtx_destroy(&timed);
	say("destroy m");
	mtx_destroy(&m);
	return 0;
}
