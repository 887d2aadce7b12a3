// The second half is done as many times as a number says that was read under a lock; the first half sets it from 0 to 1 when it is over.
// watch: data
// build: -O2
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int times;

static void publish(void) { times = 1; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	rest(20);
	pthread_mutex_lock(&lock);
	int n = times;
	pthread_mutex_unlock(&lock);
	while (n-- > 0)
		late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
