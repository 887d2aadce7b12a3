// Two handlers of one connection nest its locks in opposite orders, but the event is one-shot: it is re-armed when the first handler has let go of both.
#include "turns.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

static pthread_mutex_t input = PTHREAD_MUTEX_INITIALIZER, output = PTHREAD_MUTEX_INITIALIZER;
static int fd, ep;

static void await(void) {
	struct epoll_event e;
	need(epoll_wait(ep, &e, 1, -1) == 1, "epoll_wait");
}

static void arm(int op) {
	struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT};
	need(!epoll_ctl(ep, op, fd, &e), "epoll_ctl");
}

static void *reads(void *unused) {
	await();
	nest(&input, &output);
	arm(EPOLL_CTL_MOD);
	return unused;
}

static void *writes(void *unused) {
	await();
	nest(&output, &input);
	arm(EPOLL_CTL_MOD);
	return unused;
}

int main(void) {
	fd = eventfd(1, 0);
	ep = epoll_create1(0);
	arm(EPOLL_CTL_ADD);
	both(reads, writes);
	return 0;
}
