// Opposite orders, but the second thread only tries the inner lock, and backs off.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *forth(void *unused) {
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	return unused;
}

static void *back(void *unused) {
	later(1);
	for (int both = 0; !both;) {
		pthread_mutex_lock(&b);
		both = pthread_mutex_trylock(&a) == 0;
		if (both)
			pthread_mutex_unlock(&a);
		pthread_mutex_unlock(&b);
	}
	return unused;
}

int main(void) {
	RUN(forth, back);
	return 0;
}
