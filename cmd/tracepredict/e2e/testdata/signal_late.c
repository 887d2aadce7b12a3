/* A thread says that a job is done, and signals; the main thread, which finds the job done and need not wait, destroys the
   condition. The thread signals after it has unlocked the mutex: the main thread may come in between. Given an argument,
   it signals while it holds the mutex. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done;
static int finished, within;

static void *job(void *unused)
{
	pthread_mutex_lock(&lock);
	finished = 1;
	if (within)
		pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
	if (!within)
		pthread_cond_signal(&done);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	within = argc > 1;
	pthread_cond_init(&done, NULL);
	pthread_create(&t, NULL, job, NULL);
	pthread_detach(t);
	usleep(200000);
	pthread_mutex_lock(&lock);
	while (!finished)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&done);
	puts("done");
	return 0;
}
