// A pair of locks is used in both orders twice, by the same functions: the first time a condition
// makes the second thread wait for the first one's end of it; the second time nothing does.
//
// expect: deadlock late.x late.y
#include <pthread.h>

#include "fortune.h"

struct pair {
	pthread_mutex_t x, y;
};

static struct pair early = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static struct pair late = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int linked;

__attribute__((noinline)) static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	nest(&early.x, &early.y);
	pthread_mutex_lock(&lock);
	linked = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	nest(&late.x, &late.y);
	return unused;
}

static void *back(void *unused) {
	pthread_mutex_lock(&lock);
	while (!linked)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	nest(&early.y, &early.x);
	later(1);
	nest(&late.y, &late.x);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&u, 0, back, 0);
	pthread_create(&t, 0, forth, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
