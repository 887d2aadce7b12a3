// Two threads nest their own thread-local locks in opposite orders, at one address, but the second thread got the storage of the first after its end.
#include "turns.h"

static __thread pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER, there = PTHREAD_MUTEX_INITIALIZER;

static void *inner(void *swap) {
	if (swap)
		nest(&there, &here);
	else
		nest(&here, &there);
	return NULL;
}

static void *forth(void *unused) {
	rest(20);
	pthread_join(start(inner, NULL), NULL);
	rest(150);
	return unused;
}

static void *back(void *unused) {
	rest(80);
	pthread_join(start(inner, &unused), NULL);
	return unused;
}

int main(void) {
	both(forth, back);
	return 0;
}
