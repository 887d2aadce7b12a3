/* A thread sleeps until a signal comes that another one sends, which in this run is when it sleeps. The argument selects
   how: "flag" looks whether the handler has run, and then pauses, so that the signal may come between the two; "once"
   just pauses. The rest is innocent: "suspend" keeps the signal blocked until it sleeps; "again" sends the signal until the thread
   says that it has come; "handlers" sleeps for ever, and its handlers do the work; "timer" is woken by a timer;
   "more" gets another signal in any case. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t come;
static atomic_int woken, asleep;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int work;

static void on(int s)
{
	come = 1;
	(void)s;
}

static void quits(int s)
{
	(void)s;
	_exit(0);
}

static void works(void)
{
	pthread_mutex_lock(&lock);
	work++;
	pthread_mutex_unlock(&lock);
}

static void *flag(void *a)
{
	asleep = 1;
	while (!come)
		pause();
	works();
	return a;
}

static void *once(void *a)
{
	asleep = 1;
	pause();
	works();
	return a;
}

static void *more(void *a)
{
	once(a);
	while (!woken) /* it is there for the second signal */
		usleep(1000);
	return a;
}

static void *suspend(void *a)
{
	sigset_t blocked, before;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	asleep = 1;
	while (!come)
		sigsuspend(&before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	works();
	return a;
}

static void *again(void *a)
{
	asleep = 1;
	while (!come)
		pause();
	woken = 1;
	works();
	return a;
}

static void *handlers(void *a)
{
	asleep = 1;
	for (;;)
		pause();
	return a;
}

/* Waits until the thread most likely sleeps. Nothing orders it after that. */
static void sleeps(void)
{
	while (!asleep)
		usleep(1000);
	usleep(60000);
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		void *(*run)(void *);
	} all[] = {{"flag", flag}, {"once", once}, {"suspend", suspend}, {"again", again},
		{"handlers", handlers}, {"timer", once}, {"more", more}};
	const char *how = argc > 1 ? argv[1] : "flag";
	struct sigaction sa = {.sa_handler = on};
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = quits;
	sigaction(SIGTERM, &sa, NULL);
	if (!strcmp(how, "timer")) {
		alarm(1);
		once(NULL);
		return 0;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(how, all[i].name))
			pthread_create(&t, NULL, all[i].run, NULL);
	sleeps();
	pthread_kill(t, SIGUSR1);
	if (!strcmp(how, "again"))
		while (!woken) {
			usleep(20000);
			pthread_kill(t, SIGUSR1);
		}
	if (!strcmp(how, "more")) {
		usleep(20000);
		pthread_kill(t, SIGUSR1);
		woken = 1;
	}
	if (!strcmp(how, "handlers")) {
		usleep(20000);
		pthread_kill(t, SIGTERM);
	}
	pthread_join(t, NULL);
	printf("%d\n", work);
	return 0;
}
