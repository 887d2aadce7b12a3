// One thread reads what a child process writes on its own account. No thread tells that child anything, nor
// another process: what it reads orders nothing.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int letter, channel[2];

static void *first(void *unused) {
	letter = 41;
	return unused;
}

static void *second(void *unused) {
	char x;
	if (read(channel[0], &x, 1) != 1)
		return 0;
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	if (pipe(channel))
		return 1;
	if (!fork())
		_exit(write(channel[1], "x", 1) != 1);
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letter != 42;
}
