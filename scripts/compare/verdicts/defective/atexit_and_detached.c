// A handler run at exit prints and clears what a detached thread still counts under a lock that the handler does not take.
//
// expect: race jobs
// watch: jobs
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long jobs;

static void summary(void) {
	printf("%ld jobs\n", jobs);
	jobs = 0;
}

static void *works(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		jobs++;
		pthread_mutex_unlock(&lock);
		chance();
	}
	return unused;
}

int main(void) {
	pthread_t t;
	atexit(summary);
	pthread_create(&t, 0, works, 0);
	pthread_detach(t);
	later(1);
	return 0;
}
