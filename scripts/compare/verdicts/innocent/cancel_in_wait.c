// A thread is cancelled in pthread_cond_wait and so owns the mutex again when it ends, but its cleanup handler unlocks it.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int waiting;

static void unlocks(void *m) { pthread_mutex_unlock(m); }

static void *waits(void *unused) {
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlocks, &lock);
	waiting = 1;
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
	return unused;
}

int main(void) {
	pthread_t t = start(waits, NULL);
	for (int seen = 0; !seen; rest(2)) {
		pthread_mutex_lock(&lock);
		seen = waiting;
		pthread_mutex_unlock(&lock);
	}
	pthread_cancel(t);
	pthread_join(t, NULL);
	pthread_cond_destroy(&never);
	pthread_mutex_destroy(&lock);
	return 0;
}
