// Double-checked locking as it is often written: the first look at the pointer is
// a plain read outside of the lock.
//
// expect: race instance
// expect: race settings
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int settings;
static int *volatile instance;

static int *get(void) {
	if (!instance) {
		pthread_mutex_lock(&lock);
		if (!instance) {
			settings = 7;
			instance = &settings;
		}
		pthread_mutex_unlock(&lock);
	}
	return instance;
}

static void *first(void *unused) {
	return *get() == 7 ? unused : NULL;
}

static void *second(void *unused) {
	later(1);
	return *get() == 7 ? unused : NULL;
}

int main(void) {
	RUN(first, second);
	return 0;
}
