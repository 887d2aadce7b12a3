// Three mutexes are taken round in a circle, but each thread does so inside a fourth, which it holds until it has released the others.
#include "turns.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ring[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *turns(void *p) {
	long i = (long)p;
	rest(10 * i);
	pthread_mutex_lock(&gate);
	nest(&ring[i], &ring[(i + 1) % 3]);
	pthread_mutex_unlock(&gate);
	return NULL;
}

int main(void) {
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		t[i] = start(turns, (void *)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
