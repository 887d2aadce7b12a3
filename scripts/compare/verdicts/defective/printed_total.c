// Main prints how far the workers are and reads the sum without the lock under which they add.
//
// expect: race total
// watch: total
// build: -O2 -no-pie
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *adds(void *p) {
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&lock);
		total += (long)p;
		pthread_mutex_unlock(&lock);
		chance();
	}
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, adds, (void *)(i + 1));
	later(1);
	printf("%ld so far\n", total);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return total != 12;
}
