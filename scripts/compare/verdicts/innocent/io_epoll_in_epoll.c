// The second half waits for an epoll set that contains another one, which contains a pipe, into which the first half writes when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/epoll.h>
#include <unistd.h>

static int outer, inner, p[2];

static void *first(void *unused) {
	early();
	need(write(p[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	struct epoll_event e;
	need(epoll_wait(outer, &e, 1, -1) == 1, "epoll_wait");
	late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	outer = epoll_create1(0);
	inner = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(inner, EPOLL_CTL_ADD, p[0], &e);
	epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e);
	both(first, second);
	return data != 42;
}
