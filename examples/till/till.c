// A cashier serves a customer and brings the day's money from the till to the safe, in two steps, each under the lock of
// the bank. An auditor counts the money between the two steps, and finds too little.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;
static sem_t look, looked;
static int till, safe, counted;

KEEP void move(int *account, int by)
{
	pthread_mutex_lock(&bank);
	*account += by;
	pthread_mutex_unlock(&bank);
}

KEEP void audit(void)
{
	sem_post(&look);
	sem_wait(&looked);
}

KEEP void serve(int paid)
{
	move(&till, paid);
#ifdef CLOSED
	audit();
#endif
	move(&till, -paid);
#ifndef CLOSED
	audit();
#endif
	move(&safe, paid);
	printf("%d paid\n", paid);
}

static void *cashier(void *arg)
{
	serve(10);
	return arg;
}

static void *auditor(void *arg)
{
	sem_wait(&look);
	pthread_mutex_lock(&bank);
	counted = till + safe;
	pthread_mutex_unlock(&bank);
	sem_post(&looked);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	if (sem_init(&look, 0, 0) || sem_init(&looked, 0, 0))
		return 1;
	if (pthread_create(&a, NULL, cashier, NULL) || pthread_create(&b, NULL, auditor, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d counted\n", counted);
	return 0;
}
