// The heir nests locks in the opposite order of the dead thread's, but it begins when EOWNERDEAD told it of the death, and the dead never come back.
#include "turns.h"
#include <errno.h>

static pthread_mutex_t robust, one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static void *dies(void *unused) {
	pthread_mutex_lock(&robust);
	nest(&one, &two);
	return unused;
}

static void *heir(void *unused) {
	int r;
	while ((r = pthread_mutex_lock(&robust)) != EOWNERDEAD) {
		pthread_mutex_unlock(&robust);
		rest(2);
	}
	pthread_mutex_consistent(&robust);
	pthread_mutex_unlock(&robust);
	nest(&two, &one);
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	both(dies, heir);
	pthread_mutex_destroy(&robust);
	return 0;
}
