// A mutex is destroyed while a thread holds it.
//
// expect: misuse
// expect: race lock
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *holder(void *unused) {
	pthread_mutex_lock(&lock);
	later(2);
	return unused;
}

static void *destroyer(void *unused) {
	later(1);
	pthread_mutex_destroy(&lock);
	return unused;
}

int main(void) {
	RUN(holder, destroyer);
	return 0;
}
