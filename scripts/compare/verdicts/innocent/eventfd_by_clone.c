// The second half reads an eventfd that the first half writes by the copy of its descriptor that fcntl (F_DUPFD) made.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int a, b;

static void *first(void *unused) {
	early();
	eventfd_write(b, 1);
	return unused;
}

static void *second(void *unused) {
	eventfd_t n;
	need(!eventfd_read(a, &n), "read");
	late();
	return unused;
}

int main(void) {
	a = eventfd(0, 0);
	b = fcntl(a, F_DUPFD, 100);
	both(first, second);
	return 0;
}
