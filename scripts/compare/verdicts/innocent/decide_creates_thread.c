// The second half runs in a thread of its own, which is created only if a flag, read under a lock, says that the first half is over.
// watch: data
// build: -O2
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int over;

static void publish(void) { over = 1; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *late_thread(void *unused) {
	late();
	return unused;
}

static void *second(void *unused) {
	rest(20);
	pthread_mutex_lock(&lock);
	int go = over;
	pthread_mutex_unlock(&lock);
	if (go)
		pthread_join(start(late_thread, NULL), NULL);
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
