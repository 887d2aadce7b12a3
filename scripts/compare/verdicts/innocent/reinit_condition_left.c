// A structure with a condition is cleared by memset and initialised again while its waiter still runs, but that has left its wait, and says so under the mutex before.
#include "turns.h"
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_cond_t changed;
	int ready;
} state;
static int waiting, left;

static void *waits(void *unused) {
	pthread_mutex_lock(&lock);
	waiting = 1;
	while (!state.ready)
		pthread_cond_wait(&state.changed, &lock);
	left = 1;
	pthread_mutex_unlock(&lock);
	rest(40);
	return unused;
}

static void until(int *flag) {
	for (int set = 0; !set; rest(2)) {
		pthread_mutex_lock(&lock);
		set = *flag;
		pthread_mutex_unlock(&lock);
	}
}

int main(void) {
	pthread_cond_init(&state.changed, NULL);
	for (int i = 0; i < 2; i++) {
		waiting = left = 0;
		pthread_t t = start(waits, NULL);
		until(&waiting);
		pthread_mutex_lock(&lock);
		state.ready = 1;
		pthread_cond_signal(&state.changed);
		pthread_mutex_unlock(&lock);
		until(&left);
		pthread_mutex_lock(&lock);
		memset(&state, 0, sizeof state);
		if (i == 0)
			pthread_cond_init(&state.changed, NULL);
		pthread_cond_signal(&state.changed);
		pthread_mutex_unlock(&lock);
		pthread_join(t, NULL);
	}
	return 0;
}
