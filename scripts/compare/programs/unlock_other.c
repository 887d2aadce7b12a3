// A thread unlocks a mutex that another thread owns.
//
// expect: misuse
// timed
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *owner(void *unused) {
	pthread_mutex_lock(&lock);
	later(2);
	return unused;
}

static void *other(void *unused) {
	later(1);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	RUN(owner, other);
	return 0;
}
