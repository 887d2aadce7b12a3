// The second half first joins the first thread by pthread_clockjoin_np, again and again until it has ended.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <semaphore.h>

static pthread_t the_first;
static void *first(void *);

static void *first(void *unused) {
	early();
	
	return unused;
}

static void *second(void *unused) {
	struct timespec t;
	do {
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec = t.tv_nsec / 2 + 1000000;
	} while (pthread_clockjoin_np(the_first, NULL, CLOCK_MONOTONIC, &t));
	late();
	return unused;
}

int main(void) {
	
	the_first = start(first, NULL);
	pthread_join(start(second, NULL), NULL);
	return 0;
}
