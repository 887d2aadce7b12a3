// A thread waits with the outer of two mutexes and keeps the inner one, so that it locks the outer
// one again while it holds the inner one: against the order in which the other thread nests them.
//
// expect: deadlock
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, total;

static void *wait(void *unused) {
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	while (!ready)
		pthread_cond_wait(&changed, &outer);
	total++;
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return unused;
}

static void *notify(void *unused) {
	later(1);
	pthread_mutex_lock(&outer);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&outer);
	later(1);
	pthread_mutex_lock(&outer);
	chance();
	pthread_mutex_lock(&inner);
	total++;
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, wait, 0);
	pthread_create(&u, 0, notify, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return total != 2;
}
