// The second half follows only if a string, copied under a lock, is "ready", which the first half writes when it is over.
// watch: data
// build: -O2
#include "halves.h"
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char state[32] = "starting";

static void publish(void) { strcpy(state, "ready"); }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	char copy[32];
	rest(20);
	pthread_mutex_lock(&lock);
	memcpy(copy, state, sizeof copy);
	pthread_mutex_unlock(&lock);
	if (!strcmp(copy, "ready"))
		late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
