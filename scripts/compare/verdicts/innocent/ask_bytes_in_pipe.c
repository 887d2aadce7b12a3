// The second half waits until the kernel counts a byte in a pipe (FIONREAD), which the first half writes when it is over; nobody reads it.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/ioctl.h>
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	need(write(p[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	for (int n = 0; !n; rest(1))
		need(!ioctl(p[0], FIONREAD, &n), "ioctl");
	late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	both(first, second);
	return 0;
}
