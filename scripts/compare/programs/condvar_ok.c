// A parcel is handed over by a condition variable.
//
// expect: nothing
// timed
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, parcel, got;

static void *sender(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	parcel = 1;
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *receiver(void *unused) {
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	later(1);
	got = parcel;
	return unused;
}

int main(void) {
	RUN(sender, receiver);
	return !got;
}
