// The halves are kept in order by a lock file: the second makes it by O_EXCL, which fails until the first removes it.
// watch: data
// build: -O2
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static char name[] = "/tmp/file-XXXXXX";

static void *first(void *unused) {
	early();
	unlink(name);
	return unused;
}

static void *second(void *unused) {
	while (open(name, O_CREAT | O_EXCL | O_WRONLY, 0600) < 0)
		rest(1);
	unlink(name);
	late();
	return unused;
}

int main(void) {
	close(mkstemp(name));
	both(first, second);
	return 0;
}
