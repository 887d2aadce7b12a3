// polled N: a thread looks at a flag, under a lock, at least N times, until another thread has set it,
// which it does only when N is reached. What the flag publishes is plain data.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int flag;
static int data;
static long least;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t reached;

__attribute__((noinline)) static int look(void) {
	pthread_mutex_lock(&lock);
	int set = atomic_load(&flag);
	pthread_mutex_unlock(&lock);
	return set;
}

__attribute__((noinline)) static void publish(void) {
	data = 7;
	atomic_store(&flag, 1);
}

static void *work(void *unused) {
	for (long i = 0; i < least; i++)
		look();
	sem_post(&reached);
	while (!look())
		;
	printf("data %d\n", data);
	return unused;
}

int main(int unused, char **argv) {
	pthread_t t;

	(void)unused;
	least = atol(argv[1]);
	sem_init(&reached, 0, 0);
	pthread_create(&t, NULL, work, NULL);
	sem_wait(&reached);
	publish();
	pthread_join(t, NULL);
	return 0;
}
