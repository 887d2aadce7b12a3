// Two threads nest mutexes in opposite orders, but only while they hold the lock of a stream (flockfile), which keeps them apart.
#include "turns.h"

static pthread_mutex_t head = PTHREAD_MUTEX_INITIALIZER, tail = PTHREAD_MUTEX_INITIALIZER;

static void *prints(void *unused) {
	flockfile(stderr);
	nest(&head, &tail);
	funlockfile(stderr);
	return unused;
}

static void *flushes(void *unused) {
	rest(20);
	while (ftrylockfile(stderr))
		rest(1);
	nest(&tail, &head);
	funlockfile(stderr);
	return unused;
}

int main(void) {
	both(prints, flushes);
	return 0;
}
