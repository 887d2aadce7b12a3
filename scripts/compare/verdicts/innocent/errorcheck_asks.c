// A thread locks a mutex that it may hold already, but it is an error-checking one: the refusal, which the thread looks at, changes nothing.
// args: --misuse=-relock
// watch: total
#include "turns.h"
#include <errno.h>

static pthread_mutex_t lock;
static long total;

static void add(void) {
	int r = pthread_mutex_lock(&lock);
	total++;
	if (r != EDEADLK)
		pthread_mutex_unlock(&lock);
}

static void *adds(void *unused) {
	add();
	pthread_mutex_lock(&lock);
	add();
	add();
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&lock, &a);
	both(adds, adds);
	pthread_mutex_destroy(&lock);
	return total != 6;
}
