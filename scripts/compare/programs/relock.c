// A normal mutex is locked again by the thread that holds it, which then waits for
// itself.
//
// expect: misuse
// expect: deadlock
// expect: hang
// run: --on-hang=kill
// hangs
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *twice(void *unused) {
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	RUN(twice);
	return 0;
}
