/* The main thread waits for another one while it holds a mutex. The argument selects how: "join"
   joins it, "post" waits for its post. With a second argument the other thread needs another mutex.
   The order of this run is kept by a look at the number of threads, which no lock shows. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t config = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static sem_t loaded;

static void *load(void *mutex)
{
	pthread_mutex_lock(mutex);
	sem_post(&loaded);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static int threads(void)
{
	char line[128];
	int n = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int posts = argc > 1 && strcmp(argv[1], "post") == 0;

	sem_init(&loaded, 0, 0);
	pthread_create(&t, NULL, load, argc > 2 ? &journal : &config);
	while (threads() > 1)
		sched_yield();
	pthread_mutex_lock(&config);
	if (posts)
		sem_wait(&loaded);
	else
		pthread_join(t, NULL);
	pthread_mutex_unlock(&config);
	if (posts)
		pthread_join(t, NULL);
	return 0;
}
