#include "say.h"

#include <setjmp.h>

/* A signal handler leaves waits by longjmp, for a semaphore and for a
 * condition. The latter is nothing that POSIX promises anything for: the
 * program never touches that condition and its mutex again. */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, left = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t s;
static sigjmp_buf out;
static volatile int id, id2;

static void leave(int sig) { siglongjmp(out, 1); }

static void lock(void)
{
	MUST(pthread_mutex_lock(&m) == 0);
	say("acquire m");
	say("release m");
	MUST(pthread_mutex_unlock(&m) == 0);
}

static void *jumper(void *arg)
{
	i_am("T1");
	if (sigsetjmp(out, 1) == 0) {
		tell(&id, syscall(SYS_gettid));
		sem_wait(&s);
		_exit(97);
	}
	lock();
	MUST(pthread_mutex_lock(&left) == 0);
	if (sigsetjmp(out, 1) == 0) {
		tell(&id2, syscall(SYS_gettid));
		pthread_cond_wait(&c, &left);
		_exit(97);
	}
	for (int i = 0; i < 10; i++)
		lock();
	return NULL;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = leave};
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	name_is(&m, "m");
	sem_init(&s, 0, 0);
	t = start(jumper, "T1", NULL);
	while (!id)
		sched_yield();
	await_asleep(id);
	pthread_kill(t, SIGUSR1);
	while (!id2)
		sched_yield();
	await_asleep(id2);
	pthread_kill(t, SIGUSR1);
	join(t, "T1");
	lock();
	return 0;
}
