// family CHILDREN THREADS PAIRS: forks; parent and children each have threads that lock and
// unlock at full speed, PAIRS times. Says what each thread made; waits for the
// end of input.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long pairs;

static void *work(void *unused) {
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	char line[64];
	for (long made = 0; made < pairs; made++) {
		pthread_mutex_lock(&own);
		pthread_mutex_unlock(&own);
	}
	// One write, and no lock of stdio's: the processes share the output.
	write(1, line, snprintf(line, sizeof line, "thread %d %ld\n", gettid(), pairs));
	return unused;
}

int main(int unused, char **argv) {
	int children = atoi(argv[1]), threads = atoi(argv[2]), child = 0;
	pthread_t t[64];

	(void)unused;
	pairs = atol(argv[3]);
	printf("pid %d\n", getpid());
	fflush(stdout);
	for (int i = 0; i < children && !child; i++)
		child = fork() == 0;
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	if (child)
		_exit(0);
	while (wait(NULL) > 0)
		;
	while (getchar() != EOF)
		;
	return 0;
}
