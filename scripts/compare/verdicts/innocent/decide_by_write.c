// The flag that is read under a lock goes into a pipe that the thread reads again, and only what comes out decides: 1, which the first half sets when it is over, leads to the second half.
// watch: data
// build: -O2
#include "halves.h"
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char over;

static void publish(void) { over = 1; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	int p[2];
	char c = 0;
	rest(20);
	need(!pipe(p), "pipe");
	pthread_mutex_lock(&lock);
	need(write(p[1], &over, 1) == 1, "write");
	pthread_mutex_unlock(&lock);
	need(read(p[0], &c, 1) == 1, "read");
	if (c)
		late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
