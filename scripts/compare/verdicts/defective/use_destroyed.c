// A semaphore is destroyed by main while a thread has yet to post it: in another schedule the
// thread is quicker, in this one it posts what is destroyed.
//
// expect: misuse done
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t done;

static void *work(void *unused) {
	later(1);
	sem_post(&done);
	return unused;
}

int main(void) {
	pthread_t t;
	sem_init(&done, 0, 0);
	pthread_create(&t, 0, work, 0);
	sem_destroy(&done);
	pthread_join(t, 0);
	return 0;
}
