// Double-checked locking with an atomic pointer: the store releases and the first
// look acquires.
//
// expect: nothing
#include "threads.h"
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int settings;
static int *_Atomic instance;

static int *get(void) {
	int *p = atomic_load_explicit(&instance, memory_order_acquire);
	if (p)
		return p;
	pthread_mutex_lock(&lock);
	p = atomic_load_explicit(&instance, memory_order_relaxed);
	if (!p) {
		settings = 7;
		p = &settings;
		atomic_store_explicit(&instance, p, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return p;
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
