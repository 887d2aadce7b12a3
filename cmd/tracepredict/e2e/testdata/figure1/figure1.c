// The fragment of Figure 1 of Soueidi, El-Hokayem and Falcone (2023): seven events, in regions between three acquires.
#include <pthread.h>

#define KEEP __attribute__((noipa))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t written, open_room, all_read;
static int shared;

KEEP void do_write(int n) { shared = n; }
KEEP int do_read(void) { return shared; }

static void *writer(void *arg)
{
	pthread_mutex_lock(&lock);
	do_write(1);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&written);
	pthread_barrier_wait(&written);
	pthread_mutex_lock(&lock);
	do_write(2);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *first_reader(void *arg)
{
	pthread_barrier_wait(&written);
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&open_room);
	for (int i = 0; i < 3; i++)
		do_read();
	pthread_barrier_wait(&all_read);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&written);
	return arg;
}

static void *second_reader(void *arg)
{
	pthread_barrier_wait(&open_room);
	for (int i = 0; i < 2; i++)
		do_read();
	pthread_barrier_wait(&all_read);
	return arg;
}

int main(void)
{
	void *(*const work[])(void *) = { writer, first_reader, second_reader };
	pthread_t threads[3];

	pthread_barrier_init(&written, NULL, 2);
	pthread_barrier_init(&open_room, NULL, 2);
	pthread_barrier_init(&all_read, NULL, 2);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work[i], NULL))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
