// A thread waits for a condition while it holds the outer mutex that the notifier needs first, but only for some milliseconds: then it lets go of everything.
// watch: ready
#include "turns.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waits(void *unused) {
	for (int seen = 0; !seen; rest(3)) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec = (until.tv_nsec + 4000000) % 1000000000;
		until.tv_sec += until.tv_nsec < 4000000;
		pthread_mutex_lock(&outer);
		pthread_mutex_lock(&inner);
		if (!ready)
			pthread_cond_timedwait(&changed, &inner, &until);
		seen = ready;
		pthread_mutex_unlock(&inner);
		pthread_mutex_unlock(&outer);
	}
	return unused;
}

static void *notifies(void *unused) {
	rest(10);
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return unused;
}

int main(void) {
	both(waits, notifies);
	return 0;
}
