// A mutex and a semaphore of two permits, which one thread takes both of: it holds the permits and
// wants the mutex, while the other holds the mutex and wants a permit.
//
// expect: deadlock
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static pthread_mutex_t printer = PTHREAD_MUTEX_INITIALIZER;
static sem_t trays;
static int pages;

static void *booklet(void *unused) {
	sem_wait(&trays);
	sem_wait(&trays);
	chance();
	pthread_mutex_lock(&printer);
	pages += 2;
	pthread_mutex_unlock(&printer);
	sem_post(&trays);
	sem_post(&trays);
	return unused;
}

static void *letter(void *unused) {
	later(1);
	pthread_mutex_lock(&printer);
	chance();
	sem_wait(&trays);
	pages++;
	sem_post(&trays);
	pthread_mutex_unlock(&printer);
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&trays, 0, 2);
	pthread_create(&t, 0, booklet, 0);
	pthread_create(&u, 0, letter, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return pages != 3;
}
