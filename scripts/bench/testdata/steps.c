/* A worker makes so many steps, of two accesses each; then it is joined. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

long here, there;

__attribute__((noipa)) void step(void)
{
	here++;
	there++;
}

static void *worker(void *n)
{
	for (long i = (long)n; i > 0; i--)
		step();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	pthread_create(&t, NULL, worker, (void *)(argc > 1 ? atol(argv[1]) : 1000));
	pthread_join(t, NULL);
	printf("%ld\n", here + there);
	return 0;
}
