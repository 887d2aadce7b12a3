// Locks in opposite orders and plain data; epoll_wait returns only when the eventfd is written after the first half. It is edge-triggered and never read.
// watch: data
#include "halves.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int fd, ep;

static void *first(void *unused) {
	early();
	rest(15);
	eventfd_write(fd, 1);
	return unused;
}

static void *second(void *unused) {
	struct epoll_event e;
	if (epoll_wait(ep, &e, 1, -1) == 1)
		late();
	return unused;
}

int main(void) {
	fd = eventfd(0, 0);
	ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};
	need(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	both(first, second);
	return data != 42;
}
