// A thread polls a pipe for the announcement of a result, but only for a moment, and goes on
// whether it came or not: it did not, and the result was there all the same.
//
// expect: race result
// watch: result
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int result, channel[2];

static void *compute(void *unused) {
	result = 7;
	later(3);
	return write(channel[1], "x", 1) == 1 ? unused : &result;
}

static void *use(void *unused) {
	struct pollfd p = {channel[0], POLLIN, 0};
	(void)unused;
	poll(&p, 1, 40);
	return (void *)(long)result;
}

int main(void) {
	pthread_t t, u;
	void *got;
	if (pipe(channel))
		return 1;
	pthread_create(&t, 0, compute, 0);
	later(1);
	pthread_create(&u, 0, use, 0);
	pthread_join(t, 0);
	pthread_join(u, &got);
	return (long)got != 7;
}
