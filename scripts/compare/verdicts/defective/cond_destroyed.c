// A condition is destroyed while a thread waits on it, though without an end in sight: main ends
// the process then.
//
// expect: misuse changed
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int ready;

static void *wait(void *unused) {
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *destroy(void *unused) {
	pthread_cond_destroy(&changed);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_cond_init(&changed, 0);
	pthread_create(&t, 0, wait, 0);
	pthread_detach(t);
	later(1);
	pthread_create(&u, 0, destroy, 0);
	pthread_detach(u);
	later(1);
	return 0;
}
