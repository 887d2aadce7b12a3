// A writer sets a variable within its critical section, and another after a critical section of the same lock: they can
// only meet if the section of the other one comes first, which it did not in this run. The variable told cannot
// be raced on: after its section the first writer writes to a pipe, and the other writer waits for that.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
int untold, told;
static int channel[2];

static void *within(void *arg)
{
	pthread_mutex_lock(&lock);
	untold = 1;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&second_lock);
	told = 1;
	pthread_mutex_unlock(&second_lock);
	return write(channel[1], "w", 1) == 1 ? arg : NULL;
}

static void *behind_late(void *arg)
{
	usleep(200000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	untold = 2;
	return arg;
}

static void *behind_told(void *arg)
{
	char byte;

	if (read(channel[0], &byte, 1) != 1)
		return NULL;
	pthread_mutex_lock(&second_lock);
	pthread_mutex_unlock(&second_lock);
	told = 2;
	return arg;
}

int main(void)
{
	void *(*const work[])(void *) = { within, behind_late, behind_told };
	pthread_t threads[3];

	if (pipe(channel))
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work[i], NULL))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d %d\n", untold, told);
	return 0;
}
