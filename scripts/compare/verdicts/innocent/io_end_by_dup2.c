// The second half waits for the end of a pipe, whose only end to write the first half replaces by dup2 when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	dup2(open("/dev/null", O_RDONLY), p[1]);
	return unused;
}

static void *second(void *unused) {
	char c;
	need(read(p[0], &c, 1) == 0, "read");
	late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	both(first, second);
	return data != 42;
}
