/*
 * Two threads count in memory of their own, very often, and once each in a word that both use. The argument is how
 * often.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct counts {
	long own[2];
	long both;
};

static int often;

__attribute__((noinline)) static void busy(long *own, int i) { own[0] += i; }

__attribute__((noinline)) static void once(struct counts *c) { c->both++; }

static void *work(void *p)
{
	struct counts *c = p;
	long *own = calloc(1, sizeof *own);

	for (int i = 0; i < often; i++)
		busy(own, i);
	once(c);
	free(own);
	return 0;
}

int main(int argc, char **argv)
{
	struct counts *c = calloc(1, sizeof *c);
	pthread_t t[2];

	often = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], 0, work, c))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	printf("%ld\n", c->both);
	free(c);
	return 0;
}
