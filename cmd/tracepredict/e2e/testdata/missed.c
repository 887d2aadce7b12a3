// A reader looks for news without the lock, and then waits for it: if the news comes in between, nobody wakes it. In
// this run the reader waits first.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int news;

static void *reader(void *arg)
{
	if (!news) {
		pthread_mutex_lock(&lock);
#ifdef LOOK_AGAIN
		while (!news)
#endif
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, reader, NULL))
		return 1;
	usleep(200000);
	pthread_mutex_lock(&lock);
	news = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	puts("read");
	return 0;
}
