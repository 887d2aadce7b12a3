// A flag on the heap hands data over under a mutex, among thousands of sections of both threads that do little.
// watch: data
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 4000 };

struct desk {
	pthread_mutex_t lock;
	int ready;
};

static int data;

static void set(struct desk *d, int ready)
{
	pthread_mutex_lock(&d->lock);
	d->ready = ready;
	pthread_mutex_unlock(&d->lock);
}

static int get(struct desk *d)
{
	int ready;

	pthread_mutex_lock(&d->lock);
	ready = d->ready;
	pthread_mutex_unlock(&d->lock);
	return ready;
}

static void *first(void *d)
{
	for (int i = 0; i < ROUNDS; i++)
		set(d, 0);
	data = 42;
	for (int i = 0; i < ROUNDS; i++)
		set(d, 1);
	return NULL;
}

static void *second(void *d)
{
	for (int i = 0; i < ROUNDS; i++)
		get(d);
	while (!get(d))
		usleep(100000);
	data++;
	for (int i = 0; i < ROUNDS; i++)
		get(d);
	return NULL;
}

int main(void)
{
	struct desk *d = calloc(1, sizeof *d);
	pthread_t a, b;

	pthread_mutex_init(&d->lock, NULL);
	pthread_create(&a, NULL, first, d);
	pthread_create(&b, NULL, second, d);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d\n", data);
	free(d);
	return 0;
}
