// The shutdown waits, with the registry locked, until the timer's callback has posted that it is over, and the callback locks the registry.
//
// expect: deadlock registry
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static sem_t over;
static int timers = 1, fired;

static void *callback(void *unused) {
	pthread_mutex_lock(&registry);
	fired++;
	pthread_mutex_unlock(&registry);
	sem_post(&over);
	return unused;
}

static void shutdown_timers(void) {
	pthread_mutex_lock(&registry);
	while (timers > 0) {
		sem_wait(&over);
		timers--;
	}
	pthread_mutex_unlock(&registry);
}

int main(void) {
	pthread_t t;
	sem_init(&over, 0, 0);
	pthread_create(&t, 0, callback, 0);
	later(1);
	shutdown_timers();
	pthread_join(t, 0);
	return fired != 1;
}
