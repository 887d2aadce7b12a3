// Two threads increment a counter under a lock.
//
// expect: nothing
// timed
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *raise(void *unused) {
	pthread_mutex_lock(&lock);
	counter++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *raise_later(void *unused) {
	later(1);
	return raise(unused);
}

int main(void) {
	RUN(raise, raise_later);
	return counter != 2;
}
