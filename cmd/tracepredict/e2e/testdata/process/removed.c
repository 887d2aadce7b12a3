/* The optimiser makes limit a constant and removes the variable, since nothing writes it. */
#include <pthread.h>

static int limit = 10;
int hits;

static void *work(void *arg)
{
	for (int i = 0; i < limit; i++)
		hits++;
	return arg;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return hits != 10;
}
