// The condition is signalled in one section and what it tells becomes true in the next: a waiting thread that wakes in between sleeps again, for ever.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int open_state;

static void *waits(void *unused) {
	pthread_mutex_lock(&lock);
	while (!open_state)
		pthread_cond_wait(&opened, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *opens(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&opened);
	pthread_mutex_unlock(&lock);
	chance();
	pthread_mutex_lock(&lock);
	open_state = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, waits, 0);
	pthread_create(&u, 0, opens, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
