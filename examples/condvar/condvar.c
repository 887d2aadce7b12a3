// A bounded queue as in the textbook: one lock, two conditions, waits in
// loops. Its depth is only touched under the lock.
#include <pthread.h>
#include <stdio.h>

enum { SIZE = 4, ITEMS = 200 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
int depth;
static int items[SIZE], head;

static void put(int item) {
	pthread_mutex_lock(&lock);
	while (depth == SIZE)
		pthread_cond_wait(&not_full, &lock);
	items[(head + depth++) % SIZE] = item;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&lock);
}

static int take(void) {
	pthread_mutex_lock(&lock);
	while (depth == 0)
		pthread_cond_wait(&not_empty, &lock);
	int item = items[head];
	head = (head + 1) % SIZE;
	depth--;
	pthread_cond_signal(&not_full);
	pthread_mutex_unlock(&lock);
	return item;
}

static void *producer(void *unused) {
	for (int i = 0; i < ITEMS; i++)
		put(i);
	return unused;
}

static void *consumer(void *sum) {
	for (int i = 0; i < ITEMS; i++)
		*(long *)sum += take();
	return NULL;
}

int main(void) {
	pthread_t makers[2], takers[2];
	long sums[2] = {0, 0};
	for (int i = 0; i < 2; i++)
		if (pthread_create(&makers[i], NULL, producer, NULL) || pthread_create(&takers[i], NULL, consumer, &sums[i]))
			return 1;
	for (int i = 0; i < 2; i++) {
		pthread_join(makers[i], NULL);
		pthread_join(takers[i], NULL);
	}
	printf("sum %ld, depth %d\n", sums[0] + sums[1], depth);
	return 0;
}
