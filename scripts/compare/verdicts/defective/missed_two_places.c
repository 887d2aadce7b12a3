// A taker waits for items and a closer waits for the end of the work, both on one condition, and
// each is told by a signal: the first signal may wake the closer, which sleeps again, and then
// nobody tells the taker.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

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
	later(1);
	pthread_mutex_lock(&lock);
	while (!finished)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, take, 0);
	pthread_create(&u, 0, close_down, 0);
	later(2);
	pthread_mutex_lock(&lock);
	items++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	later(1);
	pthread_mutex_lock(&lock);
	finished = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
