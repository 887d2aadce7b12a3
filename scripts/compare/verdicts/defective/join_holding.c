// main joins a thread while it holds the lock that this thread needs before it can end: in the run
// the thread had its section behind it when main took the lock.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t config = PTHREAD_MUTEX_INITIALIZER;
static int loaded;

static void *load(void *unused) {
	chance();
	pthread_mutex_lock(&config);
	loaded = 1;
	pthread_mutex_unlock(&config);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, load, 0);
	later(1);
	pthread_mutex_lock(&config);
	pthread_join(t, 0);
	int ok = loaded;
	pthread_mutex_unlock(&config);
	return !ok;
}
