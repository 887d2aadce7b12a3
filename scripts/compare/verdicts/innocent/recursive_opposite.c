// A recursive mutex is locked a second time inside another one, which looks like the opposite order, but its owner never waits for it.
#include "turns.h"

static pthread_mutex_t document, view = PTHREAD_MUTEX_INITIALIZER;

static void *edits(void *unused) {
	pthread_mutex_lock(&document);
	pthread_mutex_lock(&view);
	pthread_mutex_lock(&document);
	pthread_mutex_unlock(&document);
	pthread_mutex_unlock(&view);
	pthread_mutex_unlock(&document);
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&document, &a);
	both(edits, edits);
	pthread_mutex_destroy(&document);
	return 0;
}
