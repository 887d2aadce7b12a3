// A waiter gets EOWNERDEAD from pthread_cond_wait, since the signaller died with the mutex; it repairs the state, and nothing is left locked or unordered.
// watch: ready
#include "turns.h"
#include <errno.h>

static pthread_mutex_t robust;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *unused) {
	if (pthread_mutex_lock(&robust) == EOWNERDEAD)
		pthread_mutex_consistent(&robust);
	while (!ready)
		if (pthread_cond_wait(&changed, &robust) == EOWNERDEAD)
			pthread_mutex_consistent(&robust);
	pthread_mutex_unlock(&robust);
	return unused;
}

static void *dies(void *unused) {
	rest(20);
	pthread_mutex_lock(&robust);
	ready = 1;
	pthread_cond_signal(&changed);
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	both(waits, dies);
	pthread_cond_destroy(&changed);
	pthread_mutex_destroy(&robust);
	return 0;
}
