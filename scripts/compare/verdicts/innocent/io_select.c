// The second thread asks select again and again whether the eventfd can be read, and never reads it; it was written after the first half.
// watch: data
#include "halves.h"
#include <sys/eventfd.h>
#include <sys/select.h>

static int fd;

static void *first(void *unused) {
	early();
	rest(15);
	eventfd_write(fd, 1);
	return unused;
}

static void *second(void *unused) {
	for (;;) {
		fd_set set;
		FD_ZERO(&set);
		FD_SET(fd, &set);
		struct timeval brief = {0, 2000};
		if (select(fd + 1, &set, NULL, NULL, &brief) == 1)
			break;
	}
	late();
	return unused;
}

int main(void) {
	fd = eventfd(0, 0);
	need(fd >= 0, "eventfd");
	both(first, second);
	return data != 42;
}
