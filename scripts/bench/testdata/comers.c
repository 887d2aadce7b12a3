// comers THREADS: so many threads come and go, eight at a time. Each enters a shop, buys under its lock, and leaves.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noipa)) // as if it were in a library

enum { at_once = 8 };

static pthread_mutex_t counter = PTHREAD_MUTEX_INITIALIZER;
static long sold;

KEEP void buy(void) {
	pthread_mutex_lock(&counter);
	sold++;
	pthread_mutex_unlock(&counter);
}

static void *customer(void *arg) {
	buy();
	return arg;
}

int main(int argc, char **argv) {
	long threads = argc > 1 ? atol(argv[1]) : 0;
	if (threads < at_once) {
		fprintf(stderr, "usage: comers THREADS(%d..)\n", at_once);
		return 2;
	}
	pthread_t inside[at_once];
	for (long i = 0; i < threads + at_once; i++) {
		if (i >= at_once)
			pthread_join(inside[i % at_once], NULL);
		if (i < threads && pthread_create(&inside[i % at_once], NULL, customer, NULL))
			return 1;
	}
	printf("%ld sold\n", sold);
	return sold != threads;
}
