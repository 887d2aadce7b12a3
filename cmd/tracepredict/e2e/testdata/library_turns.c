// Two threads work between two turns, which are taken in a library. With "lazy" one of them does not.
#include <pthread.h>
#include <string.h>

#define KEEP __attribute__((noipa))

void take_turn(void);

static int lazy;

KEEP void work(void) {}

static void *worker(void *second)
{
	if (!lazy || !second)
		work();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t first, second;

	lazy = argc > 1 && !strcmp(argv[1], "lazy");
	take_turn();
	pthread_create(&first, NULL, worker, NULL);
	pthread_create(&second, NULL, worker, "second");
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	take_turn();
	return 0;
}
