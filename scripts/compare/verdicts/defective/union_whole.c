// One thread sets the whole of a static union while another changes its upper half: they have bytes in common.
//
// expect: race
// watch: shared
#include <pthread.h>

#include "fortune.h"

static union {
	volatile short half[2];
	volatile int whole;
} counts;

static void *sets(void *unused) {
	counts.whole = 0x30002;
	return unused;
}

static void *adds(void *unused) {
	later(1);
	counts.half[1] += 3;
	return unused;
}

int main(void) {
	pthread_t a, b;
	pthread_create(&a, 0, sets, 0);
	pthread_create(&b, 0, adds, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return counts.whole == 0;
}
