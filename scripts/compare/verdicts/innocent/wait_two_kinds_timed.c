// Two threads wait on one condition for different things and are told by a signal, but each looks again after a while.
#include "turns.h"

static struct timespec *soon(void) {
	static _Thread_local struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	return &t;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items, finished;

static void *take(void *unused) {
	pthread_mutex_lock(&lock);
	while (items == 0)
		pthread_cond_timedwait(&changed, &lock, soon());
	items--;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *close_down(void *unused) {
	pthread_mutex_lock(&lock);
	while (!finished)
		pthread_cond_timedwait(&changed, &lock, soon());
	pthread_mutex_unlock(&lock);
	return unused;
}

static void tell(int *what) {
	rest(40);
	pthread_mutex_lock(&lock);
	*what = 1;
	pthread_cond_signal(&changed);
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
