// The signal may come before the wait and is then lost, but the flag is set under the lock before, so that the waiter does not wait at all.
// watch: ready
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *notifies(void *unused) {
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_signal(&changed);
	return unused;
}

static void *waits(void *unused) {
	rest(15);
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	both(notifies, waits);
	return 0;
}
