// The initialisation nests two mutexes in the other order than all users and writes what they read under no lock, but each has passed pthread_once before.
// watch: limit
#include "turns.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static int limit;

static void begins(void) {
	nest(&q, &p);
	limit = 5;
}

static void *uses(void *unused) {
	pthread_once(&once, begins);
	nest(&p, &q);
	need(limit == 5, "limit");
	rest(10);
	return unused;
}

int main(void) {
	both(uses, uses);
	return 0;
}
