// Each of three threads nests mutexes one way, and whoever leaves last the other way: the count of those within, kept under a lock, says that all are through.
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static int within = 3;

static void *works(void *unused) {
	nest(&p, &q);
	rest(3);
	pthread_mutex_lock(&lock);
	int last = --within == 0;
	pthread_mutex_unlock(&lock);
	if (last)
		nest(&q, &p);
	return unused;
}

int main(void) {
	pthread_t t = start(works, NULL);
	both(works, works);
	pthread_join(t, NULL);
	return 0;
}
