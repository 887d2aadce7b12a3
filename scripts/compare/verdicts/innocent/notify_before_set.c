// The condition is signalled before what it tells is true, but both happen under the mutex, without which the waiting thread cannot look.
// watch: ready
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *unused) {
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&told, &lock);
	ready = 2;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *tells(void *unused) {
	rest(5);
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&told);
	rest(2);
	ready = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	both(waits, tells);
	return ready != 2;
}
