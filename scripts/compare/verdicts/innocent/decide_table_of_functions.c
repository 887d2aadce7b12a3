// The second half is called through a table of functions, by an index that was read under a lock and that the first half sets when it is over; before that the index leads to a function that does nothing.
// watch: data
// build: -O2
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned stage;

static void publish(void) { stage = 1; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void nothing(void) {}
static void (*const steps[])(void) = {nothing, late};

static void *second(void *unused) {
	rest(20);
	pthread_mutex_lock(&lock);
	unsigned s = stage;
	pthread_mutex_unlock(&lock);
	steps[s]();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
