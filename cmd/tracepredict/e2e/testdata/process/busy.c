// busy HITS: a counter that is changed indivisibly at each turn, and one that hardly is. Two
// threads take turns of HITS each; says what was counted.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long allocations, turns;
static long hits;

static void *work(void *unused) {
	for (long i = 0; i < hits; i++)
		allocations++;
	turns++;
	return unused;
}

int main(int unused, char **argv) {
	pthread_t t[2];

	(void)unused;
	hits = atol(argv[1]);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("counted %ld %ld\n", allocations, turns);
	return 0;
}
