// The thread of the second half ends itself before it, deep in a helper, unless a number read under a lock says that the first half is over.
// watch: data
// build: -O2
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double progress;

static void publish(void) { progress = 1.0; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

__attribute__((noinline)) static void check(void) {
	pthread_mutex_lock(&lock);
	double p = progress;
	pthread_mutex_unlock(&lock);
	if (p < 0.5)
		pthread_exit(NULL);
}

static void *second(void *unused) {
	rest(20);
	check();
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
