#include "say.h"

/* A signal handler posts a semaphore while its thread waits for a condition. */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static volatile int id;
static int ready;

static void handle(int sig)
{
	say("sem-post s");
	sem_post(&s);
}

static void *waiter(void *arg)
{
	i_am("T1");
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	tell(&id, syscall(SYS_gettid));
	say("release m in-wait");
	say("wait c m");
	while (!ready)
		pthread_cond_wait(&c, &m);
	say("wake c m");
	say("acquire m in-wait");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	return NULL;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handle};
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	name_is(&m, "m");
	name_is(&c, "c");
	name_is(&s, "s");
	say("init s 0");
	sem_init(&s, 0, 0);
	t = start(waiter, "T1", NULL);
	while (!id)
		sched_yield();
	await_asleep(id);
	for (int i = 0; i < 3; i++) {
		MUST(pthread_kill(t, SIGUSR1) == 0);
		MUST(sem_wait(&s) == 0);
		say("sem-wait s");
		await_asleep(id);
	}
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	ready = 1;
	say("signal c");
	pthread_cond_signal(&c);
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
	join(t, "T1");
	return 0;
}
