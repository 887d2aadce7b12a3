// The flag that ends the worker is volatile, which orders nothing: neither the flag nor what the worker wrote may be read so.
//
// expect: race running
// watch: running
// build: -O2
#include <pthread.h>

#include "fortune.h"

static volatile int running = 1;
static volatile long laps;

static void *works(void *unused) {
	while (running) {
		laps++;
		nanoseconds(1000000);
	}
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, works, 0);
	later(1);
	running = 0;
	pthread_join(t, 0);
	return laps == 0;
}
