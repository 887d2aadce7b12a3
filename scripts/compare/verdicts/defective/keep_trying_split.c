// A thread that holds the lock of a tree tries that of a page until it has it, through a function of its own, and never lets
// go of the tree; another thread locks the page and then the tree. Where they meet, the first one tries for ever.
//
// expect: deadlock tree
#include <pthread.h>
#include <sched.h>

#include "fortune.h"

static pthread_mutex_t tree = PTHREAD_MUTEX_INITIALIZER, page = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static int grab(pthread_mutex_t *lock) { return pthread_mutex_trylock(lock) == 0; }

static void *split(void *unused) {
	pthread_mutex_lock(&tree);
	chance();
	while (!grab(&page))
		sched_yield();
	pthread_mutex_unlock(&page);
	pthread_mutex_unlock(&tree);
	return unused;
}

static void *reader(void *unused) {
	later(1);
	pthread_mutex_lock(&page);
	chance();
	pthread_mutex_lock(&tree);
	pthread_mutex_unlock(&tree);
	pthread_mutex_unlock(&page);
	return unused;
}

int main(void) {
	pthread_t a, b;
	pthread_create(&a, 0, split, 0);
	pthread_create(&b, 0, reader, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
