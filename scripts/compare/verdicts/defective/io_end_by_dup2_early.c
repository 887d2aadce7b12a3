// The only end of a pipe to write is closed by dup2 before the letter is written: the end of the pipe orders
// what came before that, and the letter came after.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int letter, channel[2];

static void *first(void *unused) {
	dup2(open("/dev/null", O_RDONLY), channel[1]);
	letter = 41;
	return unused;
}

static void *second(void *unused) {
	char x;
	if (read(channel[0], &x, 1))
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
