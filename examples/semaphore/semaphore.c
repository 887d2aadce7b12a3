// One item goes from a producer to a consumer and its place back again, by two
// semaphores: each post has one poster, so each wait knows whom it follows.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { ITEMS = 50 };

sem_t empty, full;
int item;

static void *producer(void *unused) {
	for (int i = 1; i <= ITEMS; i++) {
		sem_wait(&empty);
		item = i;
		sem_post(&full);
	}
	return unused;
}

static void *consumer(void *sum) {
	for (int i = 1; i <= ITEMS; i++) {
		sem_wait(&full);
		*(int *)sum += item;
		sem_post(&empty);
	}
	return NULL;
}

int main(void) {
	pthread_t p, c;
	int sum = 0;
	if (sem_init(&empty, 0, 1) || sem_init(&full, 0, 0))
		return 1;
	if (pthread_create(&p, NULL, producer, NULL) || pthread_create(&c, NULL, consumer, &sum))
		return 1;
	pthread_join(p, NULL);
	pthread_join(c, NULL);
	sem_destroy(&full);
	sem_destroy(&empty);
	printf("sum %d\n", sum);
	return 0;
}
