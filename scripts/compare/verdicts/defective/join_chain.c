// main joins a helper while it holds the outer lock: a third thread may hold the inner lock then
// and wait for the outer one, and the helper needs the inner one before it can end.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_t helper;
static int done;

static void *help(void *unused) {
	chance();
	pthread_mutex_lock(&inner);
	done++;
	pthread_mutex_unlock(&inner);
	return unused;
}

static void *both(void *unused) {
	chance();
	pthread_mutex_lock(&inner);
	pthread_mutex_lock(&outer);
	done++;
	pthread_mutex_unlock(&outer);
	pthread_mutex_unlock(&inner);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&helper, 0, help, 0);
	pthread_create(&t, 0, both, 0);
	later(1);
	pthread_mutex_lock(&outer);
	pthread_join(helper, 0);
	pthread_mutex_unlock(&outer);
	pthread_join(t, 0);
	return done != 2;
}
