// locks THREADS PAIRS [wait]: each thread locks and unlocks at full speed, PAIRS times, or
// with 0 until input comes, and counts; with wait it starts after a line of input. Says
// what each made; waits for the end of input.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static long pairs, sum;
static atomic_int stop;

static void *work(void *unused) {
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	long made = 0;
	while (pairs ? made < pairs : !stop) {
		pthread_mutex_t *m = made % 16 ? &own : &shared;
		pthread_mutex_lock(m);
		if (m == &shared)
			sum++;
		pthread_mutex_unlock(m);
		made++;
	}
	printf("thread %d %ld\n", gettid(), made);
	fflush(stdout);
	return unused;
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[64];

	pairs = argc > 2 ? atol(argv[2]) : 0;
	printf("pid %d\n", getpid());
	fflush(stdout);
	while (argc > 3 && getchar() != '\n')
		; // may be observed first
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, NULL);
	if (!pairs)
		stop = getchar() != 0;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("sum %ld\n", sum);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
