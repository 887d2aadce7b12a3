// The reading end of a pipe is closed before the letter is written: the refused write to it orders what came
// before the close, and the letter came after.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "fortune.h"

static int letter, channel[2];

static void *first(void *unused) {
	close(channel[0]);
	letter = 41;
	return unused;
}

static void *second(void *unused) {
	while (write(channel[1], "x", 1) == 1)
		nanoseconds(1000000);
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	signal(SIGPIPE, SIG_IGN);
	if (pipe(channel))
		return 1;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letter != 42;
}
