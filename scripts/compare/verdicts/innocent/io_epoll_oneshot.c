// Two workers of an event loop change a connection's state under no lock, but it is one-shot: no other gets it before epoll_ctl re-arms it.
// watch: state
#include "turns.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int fd, ep, state;

static void *works(void *unused) {
	for (int i = 0; i < 4; i++) {
		struct epoll_event e;
		need(epoll_wait(ep, &e, 1, -1) == 1, "epoll_wait");
		state++;
		e.events = EPOLLIN | EPOLLONESHOT;
		need(!epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e), "epoll_ctl");
		rest(3);
	}
	return unused;
}

int main(void) {
	fd = eventfd(1, 0);
	ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT};
	need(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	both(works, works);
	return state != 8;
}
