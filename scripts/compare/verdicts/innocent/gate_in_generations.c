// A gate is opened and closed again, but who waits at it notes the number of openings before, and goes when that has changed; and all had come before the first opening, which their count says.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER, came = PTHREAD_COND_INITIALIZER;
static int openings, here;

static void *passes(void *unused) {
	pthread_mutex_lock(&lock);
	int before = openings;
	here++;
	pthread_cond_signal(&came);
	while (openings == before)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t s = start(passes, NULL), t = start(passes, NULL);
	rest(100);
	pthread_mutex_lock(&lock);
	while (here < 2)
		pthread_cond_wait(&came, &lock);
	openings++;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
