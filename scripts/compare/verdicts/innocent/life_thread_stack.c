// Two threads nest locks on their stacks in opposite orders, at the same addresses, but the second got the first one's stack after its end.
#include "turns.h"

static void *inner(void *swap) {
	pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	nest(&m[swap != NULL], &m[swap == NULL]);
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
