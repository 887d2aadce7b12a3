// Which lock the second thread takes first is read under a lock: before the first half is over it would take the locks in the first half's order, and touch no data.
// watch: shared
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

static void *second(void *unused) {
	rest(20);
	pthread_mutex_lock(&lock);
	int o = over;
	pthread_mutex_unlock(&lock);
	nest(o ? &two : &one, o ? &one : &two);
	return unused;
}

int main(void) {
	both(first, second);
	return 0;
}
