/* A teller moves money in two steps, each under the bank's lock. "inside": the auditor looks between them. "outside": the
 * auditor looks before them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#define KEEP __attribute__((noipa))

static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;
static sem_t look, looked;
static int here = 100, there;
static int inside;

KEEP void step(int *account, int by)
{
	pthread_mutex_lock(&bank);
	*account += by;
	pthread_mutex_unlock(&bank);
}

KEEP void audited(void)
{
	sem_post(&look);
	sem_wait(&looked);
}

KEEP void transfer(int by)
{
	step(&here, -by);
	if (inside)
		audited();
	step(&there, by);
}

static void *teller(void *arg)
{
	if (!inside)
		audited();
	transfer(10);
	return arg;
}

static void *auditor(void *arg)
{
	sem_wait(&look);
	pthread_mutex_lock(&bank);
	printf("%d\n", here + there);
	pthread_mutex_unlock(&bank);
	sem_post(&looked);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	inside = argc > 1 && !strcmp(argv[1], "inside");
	sem_init(&look, 0, 0);
	sem_init(&looked, 0, 0);
	pthread_create(&threads[0], NULL, teller, NULL);
	pthread_create(&threads[1], NULL, auditor, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
