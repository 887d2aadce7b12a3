// A thread copies a whole configuration by string instructions (rep movs) while another one may replace it so.
//
// expect: race current
// build: -mmemcpy-strategy=rep_8byte:-1:noalign
#include <pthread.h>

#include "fortune.h"

static struct config {
	long level[64];
} current, next = {{1, 2, 3}}, used;

static void *replaces(void *unused) {
	chance();
	current = next;
	return unused;
}

static void *uses(void *unused) {
	later(5);
	used = current;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, replaces, 0);
	pthread_create(&u, 0, uses, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return used.level[0] > 1;
}
