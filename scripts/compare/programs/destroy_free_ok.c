// A mutex is destroyed after its last unlock, as soon as the count that it guards permits it: it is
// not held by anybody then.
//
// expect: nothing
#include "threads.h"

static struct counted {
	pthread_mutex_t lock;
	int references;
} object = {PTHREAD_MUTEX_INITIALIZER, 2};

static void *drop(void *unused) {
	pthread_mutex_lock(&object.lock);
	int last = --object.references == 0;
	pthread_mutex_unlock(&object.lock);
	if (last)
		pthread_mutex_destroy(&object.lock);
	return unused;
}

static void *drop_later(void *unused) {
	later(1);
	return drop(unused);
}

int main(void) {
	RUN(drop, drop_later);
	return 0;
}
