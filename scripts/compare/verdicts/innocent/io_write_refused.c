// The second half writes into a pipe until the write is refused (EPIPE), since the first half closes its other end when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <signal.h>
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	close(p[0]);
	return unused;
}

static void *second(void *unused) {
	while (write(p[1], "x", 1) == 1)
		rest(1);
	late();
	return unused;
}

int main(void) {
	signal(SIGPIPE, SIG_IGN);
	need(!pipe(p), "pipe");
	both(first, second);
	return data != 42;
}
