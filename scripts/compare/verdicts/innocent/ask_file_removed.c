// The second half waits until a file is gone, which the first half removes when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static char name[] = "/tmp/asked-XXXXXX";

static void *first(void *unused) {
	early();
	need(!unlink(name), "unlink");
	return unused;
}

static void *second(void *unused) {
	while (!access(name, F_OK))
		rest(1);
	late();
	return unused;
}

int main(void) {
	close(mkstemp(name));
	both(first, second);
	return 0;
}
