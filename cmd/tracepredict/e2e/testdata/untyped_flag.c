/*
 * An order is handed over by a flag on the heap, which only its builtin functions say is atomic: the binary has
 * plain loads and stores of an int. That a loop waits for it is seen.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int order;

__attribute__((noinline)) static void cook(int *ready)
{
	while (!__atomic_load_n(ready, __ATOMIC_ACQUIRE))
		usleep(1000);
	printf("cooking order %d\n", order);
	order = 0;
}

static void *kitchen(void *ready)
{
	cook(ready);
	return 0;
}

int main(void)
{
	int *ready = calloc(1, sizeof *ready);
	pthread_t t;

	pthread_create(&t, 0, kitchen, ready);
	order = 7;
	__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
	pthread_join(t, 0);
	free(ready);
}
