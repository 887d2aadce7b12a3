// Opposite orders twice: in the first round a semaphore lets the second thread begin when the first
// is through, in the second round the first thread posts before it begins.
//
// expect: deadlock
#include <pthread.h>
#include <semaphore.h>

#include "fortune.h"

static pthread_mutex_t warp = PTHREAD_MUTEX_INITIALIZER, weft = PTHREAD_MUTEX_INITIALIZER;
static sem_t turn;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *first(void *unused) {
	nest(&warp, &weft);
	sem_post(&turn);
	later(1);
	sem_post(&turn);
	nest(&warp, &weft);
	return unused;
}

static void *second(void *unused) {
	sem_wait(&turn);
	nest(&weft, &warp);
	sem_wait(&turn);
	later(1);
	nest(&weft, &warp);
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&turn, 0, 0);
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
