// The second half runs only if a file is there (access), which the first half makes when it is over; who comes too early goes without.
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static char name[] = "/tmp/asked-once-XXXXXX";

static void *first(void *unused) {
	early();
	close(open(name, O_CREAT | O_WRONLY, 0600));
	return unused;
}

static void *second(void *unused) {
	rest(200);
	if (!access(name, F_OK))
		late();
	return unused;
}

int main(void) {
	close(mkstemp(name));
	unlink(name);
	both(first, second);
	unlink(name);
	return 0;
}
