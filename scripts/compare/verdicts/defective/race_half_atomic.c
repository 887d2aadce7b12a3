// One thread adds to a number by an atomic instruction, the other by a plain increment, which may
// lose what was added.
//
// expect: race hits
// watch: hits
#include <pthread.h>

#include "fortune.h"

static int hits;

static void *careful(void *unused) {
	chance();
	__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
	return unused;
}

static void *careless(void *unused) {
	later(1);
	hits++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, careful, 0);
	pthread_create(&u, 0, careless, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return hits != 2;
}
