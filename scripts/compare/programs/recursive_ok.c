// A recursive mutex is locked twice by its owner, and unlocked as often.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t lock;

static void *twice(void *unused) {
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	if (pthread_mutex_init(&lock, &attr))
		return 1;
	RUN(twice, twice);
	return pthread_mutex_destroy(&lock);
}
