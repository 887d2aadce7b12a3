// As hidden_by_lock, but the second thread checks under the lock whether the first has written, and
// only then writes: the order is no accident.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total, written;

static void *first(void *unused) {
	total += 1;
	pthread_mutex_lock(&lock);
	written = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *second(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	int may = written;
	pthread_mutex_unlock(&lock);
	if (may)
		total += 2;
	return unused;
}

int main(void) {
	RUN(first, second);
	return 0;
}
