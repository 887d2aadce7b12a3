// Two threads nest mutexes in opposite orders and change plain data, outside any common lock, but a flag under a lock says that one is busy, and the other waits.
// watch: total
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int busy;
static long total;

static void enter(void) {
	pthread_mutex_lock(&lock);
	while (busy)
		pthread_cond_wait(&changed, &lock);
	busy = 1;
	pthread_mutex_unlock(&lock);
}

static void leave(void) {
	pthread_mutex_lock(&lock);
	busy = 0;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void *forth(void *unused) {
	enter();
	nest(&p, &q);
	total++;
	leave();
	return unused;
}

static void *back(void *unused) {
	rest(15);
	enter();
	nest(&q, &p);
	total++;
	leave();
	return unused;
}

int main(void) {
	both(forth, back);
	return total != 2;
}
