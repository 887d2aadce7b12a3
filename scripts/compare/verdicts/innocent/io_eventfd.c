// The halves share plain data and nest locks in opposite orders, but an eventfd's counter, added to after the first, is read before the second.
// watch: data
#include "halves.h"
#include <sys/eventfd.h>

static int fd;

static void *first(void *unused) {
	early();
	rest(15);
	eventfd_write(fd, 1);
	return unused;
}

static void *second(void *unused) {
	eventfd_t n;
	if (!eventfd_read(fd, &n))
		late();
	return unused;
}

int main(void) {
	fd = eventfd(0, 0);
	need(fd >= 0, "eventfd");
	both(first, second);
	return data != 42;
}
