// Three threads lock a ring of three mutexes, but one takes its second by trylock and starts again without: the ring cannot close.
#include "turns.h"

static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *locks(void *p) {
	long i = (long)p;
	rest(10 * i);
	nest(&m[i], &m[i + 1]);
	return NULL;
}

static void *tries(void *unused) {
	rest(30);
	for (;;) {
		pthread_mutex_lock(&m[2]);
		int taken = !pthread_mutex_trylock(&m[0]);
		if (taken)
			pthread_mutex_unlock(&m[0]);
		pthread_mutex_unlock(&m[2]);
		if (taken)
			return unused;
		rest(1);
	}
}

int main(void) {
	pthread_t s = start(locks, (void *)0), t = start(locks, (void *)1), u = start(tries, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
