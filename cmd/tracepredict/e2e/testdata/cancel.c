#include "say.h"

/* Threads that are cancelled where they wait: for a condition, a semaphore,
 * another thread. */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t never, done;
static volatile int id, let_go;

static void unlock(void *arg)
{
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
}

static void *in_cond(void *arg)
{
	i_am("T1");
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	pthread_cleanup_push(unlock, NULL);
	tell(&id, syscall(SYS_gettid));
	say("release m in-wait");
	say("wait c m");
	say("wake c m timed-out inferred"); /* as far as anybody can tell */
	say("acquire m in-wait inferred");
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(1);
	return NULL;
}

static void post(void *arg)
{
	say("sem-post done");
	MUST(sem_post(&done) == 0);
}

static void *in_sem(void *arg)
{
	i_am("T2");
	pthread_cleanup_push(post, NULL);
	tell(&id, syscall(SYS_gettid));
	sem_wait(&never);
	_exit(97);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *joined(void *arg)
{
	i_am("T3");
	await(&let_go, 1);
	return NULL;
}

static void *in_join(void *arg)
{
	i_am("T4");
	pthread_cleanup_push(post, NULL);
	tell(&id, syscall(SYS_gettid));
	pthread_join(*(pthread_t *)arg, NULL);
	_exit(97);
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancel(pthread_t t, const char *name)
{
	void *result;

	while (!id)
		sched_yield();
	await_asleep(id);
	id = 0;
	MUST(pthread_cancel(t) == 0);
	MUST(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
	say("join %s", name);
}

int main(void)
{
	pthread_t t, u;

	name_is(&m, "m");
	name_is(&c, "c");
	name_is(&never, "never");
	name_is(&done, "done");
	say("init never 0");
	sem_init(&never, 0, 0);
	say("init done 0");
	sem_init(&done, 0, 0);

	t = start(in_cond, "T1", NULL);
	cancel(t, "T1");
	MUST(pthread_mutex_lock(&m) == 0); /* the handler has unlocked it */
	say("acquire m");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);

	t = start(in_sem, "T2", NULL);
	cancel(t, "T2");
	MUST(sem_wait(&done) == 0);
	say("sem-wait done");

	t = start(joined, "T3", NULL);
	u = start(in_join, "T4", &t);
	cancel(u, "T4");
	MUST(sem_wait(&done) == 0);
	say("sem-wait done");
	tell(&let_go, 1);
	join(t, "T3");
	return 0;
}
