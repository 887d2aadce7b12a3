// One thread takes the only connection (a semaphore) and then the cache's lock, the other the cache's lock and then the connection.
//
// expect: deadlock
// build: -O2
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static sem_t connections;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static int entries, queries;

static void *query(void *unused) {
	sem_wait(&connections);
	queries++;
	chance();
	pthread_mutex_lock(&cache);
	entries++;
	pthread_mutex_unlock(&cache);
	sem_post(&connections);
	return unused;
}

static void *refresh(void *unused) {
	later(1);
	pthread_mutex_lock(&cache);
	entries = 0;
	chance();
	sem_wait(&connections);
	queries++;
	sem_post(&connections);
	pthread_mutex_unlock(&cache);
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&connections, 0, 1);
	pthread_create(&t, 0, query, 0);
	pthread_create(&u, 0, refresh, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return queries != 2;
}
