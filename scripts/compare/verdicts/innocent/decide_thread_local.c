// The second half follows only if a thread-local copy says so that was made under a lock, of a flag that the first half sets when it is over.
// watch: data
#include "halves.h"


static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int over;
static __thread int copy_of_over;

static void publish(void) { over = 1; }

static void *first(void *unused) {
	early();
	pthread_mutex_lock(&lock);
	publish();
	pthread_mutex_unlock(&lock);
	return unused;
}

static void refresh(void) {
	pthread_mutex_lock(&lock);
	copy_of_over = over;
	pthread_mutex_unlock(&lock);
}

static void *second(void *unused) {
	rest(20);
	refresh();
	if (copy_of_over)
		late();
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
