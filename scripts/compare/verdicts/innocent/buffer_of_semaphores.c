// Two producers and two consumers use the slots of a buffer, and a producer posts what a consumer waits for, under different locks, but the counts keep them apart.
// watch: shared
#include "turns.h"
#include <semaphore.h>

enum { SIZE = 3, EACH = 5 };
static sem_t room, filled;
static pthread_mutex_t in = PTHREAD_MUTEX_INITIALIZER, out = PTHREAD_MUTEX_INITIALIZER;
static int first, last;
static long slots[SIZE], sum;

static void *produces(void *unused) {
	for (int i = 1; i <= EACH; i++) {
		while (sem_wait(&room))
			;
		pthread_mutex_lock(&in);
		slots[last] = i;
		last = (last + 1) % SIZE;
		sem_post(&filled);
		pthread_mutex_unlock(&in);
	}
	return unused;
}

static void *consumes(void *unused) {
	for (int i = 1; i <= EACH; i++) {
		while (sem_wait(&filled))
			;
		pthread_mutex_lock(&out);
		sum += slots[first];
		first = (first + 1) % SIZE;
		sem_post(&room);
		pthread_mutex_unlock(&out);
	}
	return unused;
}

int main(void) {
	sem_init(&room, 0, SIZE);
	sem_init(&filled, 0, 0);
	pthread_t p = start(produces, NULL), c = start(consumes, NULL);
	both(produces, consumes);
	pthread_join(p, NULL);
	pthread_join(c, NULL);
	sem_destroy(&room);
	sem_destroy(&filled);
	return sum != 30;
}
