// One condition is waited on with two mutexes, but at different times: the first waiter is joined before the second begins.
#include "turns.h"

static pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready[2];

static void *waits(void *p) {
	long i = (long)p;
	pthread_mutex_lock(&m[i]);
	while (!ready[i])
		pthread_cond_wait(&changed, &m[i]);
	pthread_mutex_unlock(&m[i]);
	return NULL;
}

int main(void) {
	for (long i = 0; i < 2; i++) {
		pthread_t t = start(waits, (void *)i);
		rest(10);
		pthread_mutex_lock(&m[i]);
		ready[i] = 1;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&m[i]);
		pthread_join(t, NULL);
	}
	return 0;
}
