// A thread ends on a path that leaves its lock held; the other locked it before, in the run, and
// would wait for ever if it came after.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users, failed = 1;

static void *enter(void *unused) {
	chance();
	pthread_mutex_lock(&lock);
	users++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *leave(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	users--;
	if (failed)
		return 0;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, enter, 0);
	pthread_create(&u, 0, leave, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
