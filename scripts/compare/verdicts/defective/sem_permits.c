// A semaphore is used as a lock, but was given two permits, so two threads can be inside.
//
// expect: race balance
// watch: balance
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t lock;
static int balance;

static void *add(void *step) {
	later((int)(long)step);
	sem_wait(&lock);
	int old = balance;
	chance();
	balance = old + 10;
	sem_post(&lock);
	return 0;
}

int main(void) {
	pthread_t t, u;
	sem_init(&lock, 0, 2);
	pthread_create(&t, 0, add, (void *)0);
	pthread_create(&u, 0, add, (void *)1);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return balance != 20;
}
