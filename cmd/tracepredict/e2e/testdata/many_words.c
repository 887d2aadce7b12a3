/* Two threads change a counter without a lock, one before and one after they fill much memory of their own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static size_t words;
static long *counter;
static int locked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void fill(long *p)
{
	for (size_t i = 0; i < words; i++)
		p[i] = i;
}

__attribute__((noinline)) static void count(long *p)
{
	if (locked)
		pthread_mutex_lock(&lock);
	p[0]++;
	if (locked)
		pthread_mutex_unlock(&lock);
}

static void *before(void *own)
{
	count(counter);
	fill(own);
	return 0;
}

static void *after(void *own)
{
	fill(own);
	count(counter);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	long *own[2];

	words = atol(argv[1]);
	locked = argc > 2;
	counter = calloc(1, sizeof(*counter));
	for (int i = 0; i < 2; i++)
		own[i] = malloc(words * sizeof(long));
	pthread_create(&t[0], 0, before, own[0]);
	pthread_create(&t[1], 0, after, own[1]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	printf("%ld\n", *counter);
	return 0;
}
