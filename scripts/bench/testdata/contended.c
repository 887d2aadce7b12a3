/* Two threads that take one lock in turn, and hold it for so many steps of a loop: one waits for the other in the kernel nearly
 * always. With a third argument each has a lock of its own. It begins when its standard input ends, and prints how many ns that took. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int turns, apart, hold;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void work(int steps)
{
	for (volatile int i = 0; i < steps; i++)
		;
}

static void *take_turns(void *number)
{
	pthread_mutex_t *lock = &locks[apart ? (long)number : 0];

	for (int i = 0; i < turns; i++) {
		pthread_mutex_lock(lock);
		work(hold);
		pthread_mutex_unlock(lock);
		work(hold / 10);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	long long from;
	char c;

	if (argc < 3)
		return 2;
	turns = atoi(argv[1]);
	hold = atoi(argv[2]);
	apart = argc > 3;
	while (read(0, &c, 1) > 0)
		;
	from = now();
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%lld\n", now() - from);
	return 0;
}
