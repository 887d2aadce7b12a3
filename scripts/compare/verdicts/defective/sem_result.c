// A worker posts that a result is there only within a section of the lock that main holds while it
// waits for the post: in the run the worker was quicker.
//
// expect: deadlock
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t finished;
static int results;

static void *work(void *unused) {
	chance();
	pthread_mutex_lock(&results_lock);
	results++;
	sem_post(&finished);
	pthread_mutex_unlock(&results_lock);
	return unused;
}

int main(void) {
	pthread_t t;
	sem_init(&finished, 0, 0);
	pthread_create(&t, 0, work, 0);
	later(1);
	pthread_mutex_lock(&results_lock);
	sem_wait(&finished);
	int got = results;
	pthread_mutex_unlock(&results_lock);
	pthread_join(t, 0);
	return got != 1;
}
