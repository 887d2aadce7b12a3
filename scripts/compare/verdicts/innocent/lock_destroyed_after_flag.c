// A lock is destroyed without a join, but only after the atomic flag that the other thread sets when it has unlocked the lock for the last time.
#include <stdatomic.h>
#include "turns.h"

static pthread_mutex_t lock;
static atomic_int done;
static long count;

static void *counts(void *unused) {
	pthread_mutex_lock(&lock);
	count++;
	pthread_mutex_unlock(&lock);
	atomic_store(&done, 1);
	return unused;
}

int main(void) {
	pthread_mutex_init(&lock, NULL);
	pthread_t t = start(counts, NULL);
	while (!atomic_load(&done))
		rest(1);
	pthread_mutex_destroy(&lock);
	pthread_join(t, NULL);
	need(count == 1, "count");
	return 0;
}
