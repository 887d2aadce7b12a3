// One function locks pairs of locks in both orders: of the pair tick and tock both orders lie under
// a gate lock, so nothing can happen; of the pair ping and pong they do not, so the two threads can
// block each other.
//
// expect: deadlock ping pong
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tick = PTHREAD_MUTEX_INITIALIZER, tock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ping = PTHREAD_MUTEX_INITIALIZER, pong = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void forth(pthread_mutex_t *a, pthread_mutex_t *b) {
	pthread_mutex_lock(a);
	chance();
	pthread_mutex_lock(b);
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}

__attribute__((noinline)) static void back(pthread_mutex_t *a, pthread_mutex_t *b) {
	pthread_mutex_lock(b);
	chance();
	pthread_mutex_lock(a);
	pthread_mutex_unlock(a);
	pthread_mutex_unlock(b);
}

static void *first(void *unused) {
	pthread_mutex_lock(&gate);
	forth(&tick, &tock);
	pthread_mutex_unlock(&gate);
	forth(&ping, &pong);
	return unused;
}

static void *second(void *unused) {
	later(1);
	pthread_mutex_lock(&gate);
	back(&tick, &tock);
	pthread_mutex_unlock(&gate);
	back(&ping, &pong);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
