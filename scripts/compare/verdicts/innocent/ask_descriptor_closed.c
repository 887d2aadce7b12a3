// The second half waits until a descriptor is closed (EBADF), which the first half closes when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static int fd;

static void *first(void *unused) {
	early();
	close(fd);
	return unused;
}

static void *second(void *unused) {
	while (fcntl(fd, F_GETFD) >= 0)
		rest(1);
	late();
	return unused;
}

int main(void) {
	fd = open("/etc/passwd", O_RDONLY);
	both(first, second);
	return 0;
}
