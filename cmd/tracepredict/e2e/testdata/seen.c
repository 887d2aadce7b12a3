/* An auditor looks between the two steps of a transfer ("inside"), or before them. The threads meet by a condition. With a
 * second argument, "teller" or "bystander", such a thread lets the kernel write a variable, which no probe sees; a "poster"
 * uses a semaphore. The teller waits for its signal at the end if there is a third argument. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
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
static int waits;
static sem_t own;
static const char *drawer = "";
long drawn;
static sigjmp_buf signalled;
static volatile sig_atomic_t ready, early;
static __thread const char *me = "main";

static void got(int sig)
{
	(void)sig;
	char line[64];
	int n = snprintf(line, sizeof line, "signal in %s\n", me);
	(void)!write(1, line, n);
	early = 1;
	if (ready)
		siglongjmp(signalled, 1);
}

/* Returns after the signal, without a call or a loop by which others could order the thread. */
static void await_signal(void)
{
	if (sigsetjmp(signalled, 1))
		return;
	ready = 1;
	if (!early)
		for (;;)
			;
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

/* Lets the thread, if it is the one, read what it did not write. */
KEEP void draw(const char *who)
{
	if (strcmp(who, drawer))
		return;
	drawn = 1;
	syscall(SYS_getrandom, &drawn, sizeof drawn, 0);
	if (drawn == 1)
		printf("a draw of 2^64\n");
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
	draw("teller");
	if (!inside)
		audited();
	transfer(10);
	if (waits)
		await_signal();
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

static void *bystander(void *arg)
{
	draw("bystander");
	if (!strcmp(drawer, "poster")) {
		sem_post(&own);
		sem_wait(&own);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	signal(SIGUSR1, got);
	inside = argc > 1 && !strcmp(argv[1], "inside");
	waits = argc > 3;
	if (argc > 2)
		drawer = argv[2];
	pthread_create(&threads[0], NULL, teller, NULL);
	pthread_create(&threads[1], NULL, auditor, NULL);
	if (*drawer)
		pthread_create(&threads[2], NULL, bystander, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (*drawer)
		pthread_join(threads[2], NULL);
	return 0;
}
