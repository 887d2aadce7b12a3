// A thread spins on a volatile flag until another has set it: volatile is not atomic, so the flag
// itself races, and orders nothing.
//
// expect: race done
// expect: race result
// watch: done, result
#include <pthread.h>
#include <sched.h>

#include "fortune.h"

static volatile int done;
static int result;

static void *compute(void *unused) {
	later(1);
	result = 6 * 7;
	done = 1;
	return unused;
}

static void *use(void *unused) {
	while (!done)
		sched_yield();
	result++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, compute, 0);
	pthread_create(&u, 0, use, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return result != 43;
}
