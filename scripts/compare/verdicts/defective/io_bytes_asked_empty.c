// The pipe is asked for its bytes (FIONREAD), and has none: that orders nothing.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fortune.h"

static int letter, channel[2];

static void *first(void *unused) {
	letter = 41;
	return unused;
}

static void *second(void *unused) {
	int n;
	if (ioctl(channel[0], FIONREAD, &n) || n)
		return 0;
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	if (pipe(channel))
		return 1;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letter != 42;
}
