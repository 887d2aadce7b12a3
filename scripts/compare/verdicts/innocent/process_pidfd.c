// The second half first polls a descriptor of a child process, which the first half ends when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int fd;

static void *first(void *unused) {
	early();
	kill(child, SIGKILL);
	return unused;
}

static void *second(void *unused) {
	struct pollfd p = {.fd = fd, .events = POLLIN};
	need(poll(&p, 1, -1) == 1, "poll");
	waitid(P_PID, (id_t)child, NULL, WEXITED);
	late();
	return unused;
}

int main(void) {
	child = fork();
	if (!child)
		for (;;)
			pause();
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	both(first, second);
	return data != 42;
}
