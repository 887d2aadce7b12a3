/* An auditor looks between the two steps of a transfer ("inside"), or before them. The threads meet by a condition. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#define KEEP __attribute__((noipa))

static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int whose;
static int here = 100, there;
static int inside;
static __thread const char *me = "main";
static volatile sig_atomic_t signals;

static void got(int sig)
{
	(void)sig;
	char line[64];
	signals++;
	int n = snprintf(line, sizeof line, "signal in %s\n", me);
	(void)!write(1, line, n);
}

static void wait_for(int n)
{
	pthread_mutex_lock(&turn);
	while (whose != n)
		pthread_cond_wait(&changed, &turn);
	pthread_mutex_unlock(&turn);
}

static void give(int n)
{
	pthread_mutex_lock(&turn);
	whose = n;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&turn);
}

KEEP void step(int *account, int by)
{
	pthread_mutex_lock(&bank);
	*account += by;
	pthread_mutex_unlock(&bank);
}

KEEP void audited(void)
{
	give(1);
	wait_for(2);
}

KEEP void transfer(int by)
{
	step(&here, -by);
	if (inside)
		audited();
	step(&there, by);
}

static void *teller(void *arg)
{
	me = "teller";
	if (!inside)
		audited();
	transfer(10);
	return arg;
}

static void *auditor(void *arg)
{
	me = "auditor";
	wait_for(1);
	pthread_mutex_lock(&bank);
	printf("%d\n", here + there);
	fflush(stdout);
	pthread_mutex_unlock(&bank);
	give(2);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	signal(SIGUSR1, got);
	inside = argc > 1 && !strcmp(argv[1], "inside");
	pthread_create(&threads[0], NULL, teller, NULL);
	pthread_create(&threads[1], NULL, auditor, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
