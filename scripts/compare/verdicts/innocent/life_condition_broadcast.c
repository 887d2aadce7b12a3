// A condition is destroyed while its waiters may not yet have returned from their waits, but right after a broadcast that woke them all, which POSIX allows.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting, open;

static void *waits(void *p) {
	pthread_cond_t *c = p;
	pthread_mutex_lock(&lock);
	waiting++;
	if (!open)
		pthread_cond_wait(c, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void) {
	pthread_cond_t *c = malloc(sizeof *c);
	pthread_cond_init(c, NULL);
	pthread_t s = start(waits, c), t = start(waits, c);
	for (int n = 0; n < 2; rest(2)) {
		pthread_mutex_lock(&lock);
		n = waiting;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	open = 1;
	pthread_cond_broadcast(c);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(c);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	free(c);
	return 0;
}
