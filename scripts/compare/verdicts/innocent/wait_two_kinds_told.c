// Two threads wait on one condition for different things, but each change is told to all of them by a broadcast.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items, finished;

static void *take(void *unused) {
	pthread_mutex_lock(&lock);
	while (items == 0)
		pthread_cond_wait(&changed, &lock);
	items--;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *close_down(void *unused) {
	pthread_mutex_lock(&lock);
	while (!finished)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void tell(int *what) {
	rest(40);
	pthread_mutex_lock(&lock);
	*what = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

int main(void) {
	pthread_t t = start(take, NULL), u = start(close_down, NULL);
	tell(&items);
	tell(&finished);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return items;
}
