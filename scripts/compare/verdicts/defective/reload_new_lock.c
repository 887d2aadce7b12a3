// A reload puts a new lock in the place of the old one: who has loaded the pointer before counts under the old lock, and others under the new one.
//
// expect: race hits
// watch: hits
#include <pthread.h>
#include <stdatomic.h>

#include "fortune.h"

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t *_Atomic lock = &locks[0];
static long hits;

static void count(void) {
	pthread_mutex_t *l = atomic_load(&lock);
	chance();
	pthread_mutex_lock(l);
	hits++;
	pthread_mutex_unlock(l);
}

static void *serve(void *unused) {
	for (int i = 0; i < 3; i++)
		count();
	return unused;
}

static void *reload(void *unused) {
	later(1);
	atomic_store(&lock, &locks[1]);
	count();
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, serve, 0);
	pthread_create(&u, 0, reload, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return hits != 4;
}
