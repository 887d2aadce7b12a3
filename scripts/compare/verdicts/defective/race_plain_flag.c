// A message is published by a flag that is not atomic: the reader looks at it once, and the two
// accesses of the flag are ordered by nothing.
//
// expect: race ready
// watch: ready, message
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static int message, ready;

static void *publish(void *unused) {
	chance();
	message = 42;
	ready = 1;
	return unused;
}

static void *look(void *unused) {
	later(1);
	if (ready)
		printf("%d\n", message);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, publish, 0);
	pthread_create(&u, 0, look, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
