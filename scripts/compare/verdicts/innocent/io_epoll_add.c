// A connection is filled without a lock and read by the event loop without a lock, but the loop gets it from epoll_wait after epoll_ctl has added it.
// watch: bytes of struct conn
#include "turns.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct conn {
	int fd;
	long bytes;
};

static int ep;

static void *loops(void *unused) {
	struct epoll_event e;
	if (epoll_wait(ep, &e, 1, -1) != 1)
		return unused;
	struct conn *c = e.data.ptr;
	c->bytes++;
	long bytes = c->bytes;
	close(c->fd);
	free(c);
	return (void *)bytes;
}

int main(void) {
	ep = epoll_create1(0);
	pthread_t t = start(loops, NULL);
	rest(15);
	struct conn *c = malloc(sizeof *c);
	c->fd = eventfd(1, 0);
	c->bytes = 41;
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
	need(!epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e), "epoll_ctl");
	void *bytes;
	pthread_join(t, &bytes);
	return (long)bytes != 42;
}
