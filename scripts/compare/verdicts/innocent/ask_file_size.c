// The second half waits until a file has a byte (fstat), which the first half writes when it is over.
// watch: data
// build: -O2
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int fd;

static void *first(void *unused) {
	early();
	need(write(fd, "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	for (struct stat s = {0}; s.st_size < 1; rest(1))
		need(!fstat(fd, &s), "fstat");
	late();
	return unused;
}

int main(void) {
	char name[] = "/tmp/asked-XXXXXX";
	fd = mkstemp(name);
	unlink(name);
	both(first, second);
	return 0;
}
