// Two threads destroy one mutex, one condition and one semaphore, but each made them first: by calls, by static initialisers, and in turn, since the first is joined.
#include "turns.h"
#include <semaphore.h>

static pthread_mutex_t lock;
static pthread_cond_t changed;
static sem_t slots;

static void *called(void *unused) {
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	sem_init(&slots, 0, 1);
	pthread_mutex_destroy(&lock);
	pthread_cond_destroy(&changed);
	sem_destroy(&slots);
	return unused;
}

static void *assigned(void *unused) {
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	sem_init(&slots, 0, 0);
	pthread_mutex_destroy(&lock);
	pthread_cond_destroy(&changed);
	sem_destroy(&slots);
	return unused;
}

int main(void) {
	pthread_join(start(called, NULL), NULL);
	pthread_join(start(assigned, NULL), NULL);
	pthread_join(start(called, NULL), NULL);
	return 0;
}
