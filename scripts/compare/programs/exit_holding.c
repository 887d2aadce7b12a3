// A thread ends while it holds a mutex.
//
// expect: misuse
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *forgetful(void *unused) {
	pthread_mutex_lock(&lock);
	return unused;
}

int main(void) {
	RUN(forgetful);
	return 0;
}
