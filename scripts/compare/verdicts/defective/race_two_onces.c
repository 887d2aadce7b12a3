// Two modules initialise the shared table by pthread_once, but each with a once object of its own.
//
// expect: race table
// watch: table
#include <pthread.h>

#include "fortune.h"

static pthread_once_t once_here = PTHREAD_ONCE_INIT, once_there = PTHREAD_ONCE_INIT;
static int table;

static void initialise(void) {
	table = table * 2 + 1;
}

static void *here(void *unused) {
	chance();
	pthread_once(&once_here, initialise);
	return unused;
}

static void *there(void *unused) {
	later(1);
	pthread_once(&once_there, initialise);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, here, 0);
	pthread_create(&u, 0, there, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return table != 3;
}
