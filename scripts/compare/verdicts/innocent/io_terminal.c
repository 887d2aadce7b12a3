// The second half first reads a line from a pseudo-terminal whose other end the first half writes when it is over.
// watch: data
// build: -lutil
#define _GNU_SOURCE
#include "halves.h"
#include <pty.h>
#include <unistd.h>

static int master, slave;

static void *first(void *unused) {
	early();
	need(write(master, "go\n", 3) == 3, "write");
	return unused;
}

static void *second(void *unused) {
	char line[8];
	need(read(slave, line, sizeof line) == 3, "read");
	late();
	return unused;
}

int main(void) {
	need(!openpty(&master, &slave, NULL, NULL, NULL), "openpty");
	both(first, second);
	return data != 42;
}
