// The waiter holds a reader-writer lock that the notifier takes before it signals, but both take it for reading, and nobody ever writes.
#include "turns.h"

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *unused) {
	pthread_rwlock_rdlock(&shared);
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	pthread_rwlock_unlock(&shared);
	return unused;
}

static void *notifies(void *unused) {
	rest(15);
	pthread_rwlock_rdlock(&shared);
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_rwlock_unlock(&shared);
	return unused;
}

int main(void) {
	both(waits, notifies);
	return 0;
}
