// One thread asks whether a child is dead (poll of a descriptor of it), and is told that it lives: that orders
// nothing.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "fortune.h"

static int letter, fd;
static pid_t child;

static void *first(void *unused) {
	letter = 41;
	return unused;
}

static void *second(void *unused) {
	struct pollfd p = {.fd = fd, .events = POLLIN};
	if (poll(&p, 1, 0))
		return 0;
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	child = fork();
	if (!child)
		for (;;)
			pause();
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	kill(child, SIGKILL);
	return letter != 42;
}
