// Opposite orders under a gate, but the gate is a read-write lock that both threads lock for
// reading, so it lets both in.
//
// expect: deadlock hens eggs
#include <pthread.h>

#include "fortune.h"

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t hens = PTHREAD_MUTEX_INITIALIZER, eggs = PTHREAD_MUTEX_INITIALIZER;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_rwlock_rdlock(&gate);
	pthread_mutex_lock(outer);
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
	pthread_rwlock_unlock(&gate);
}

static void *forth(void *unused) {
	nest(&hens, &eggs);
	return unused;
}

static void *back(void *unused) {
	later(1);
	nest(&eggs, &hens);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
