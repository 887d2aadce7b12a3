// A structure with a condition is cleared by memset while a thread waits on it: the condition
// forgets the waiter, no signal reaches it any more, and it is left behind when the process ends.
//
// expect: misuse changed
#include <pthread.h>
#include <string.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_cond_t changed;
	int ready, errors;
} state;

static void *wait(void *unused) {
	pthread_mutex_lock(&lock);
	while (!state.ready)
		pthread_cond_wait(&state.changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_cond_init(&state.changed, 0);
	pthread_create(&t, 0, wait, 0);
	pthread_detach(t);
	later(1);
	pthread_mutex_lock(&lock);
	memset(&state, 0, sizeof state);
	state.ready = 1;
	pthread_cond_signal(&state.changed);
	pthread_mutex_unlock(&lock);
	later(1);
	return 0;
}
