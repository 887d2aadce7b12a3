// The first joins time out and order nothing, but the loop goes on until pthread_timedjoin_np has joined the thread of the first half.
// watch: data
#define _GNU_SOURCE
#include "halves.h"

static void *first(void *unused) {
	rest(20);
	early();
	return unused;
}

int main(void) {
	pthread_t t = start(first, NULL);
	for (;;) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 3000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (!pthread_timedjoin_np(t, NULL, &until))
			break;
	}
	late();
	return data != 42;
}
