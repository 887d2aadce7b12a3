// A connection's data is changed by whichever of two workers gets its event, under no lock, and armed again by a third thread, but an event is one shot and goes round by the queue's lock.
// watch: shared
#include "turns.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct connection { int fd; long served; } connections[2];
static int poller, stop_fd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int queue[16], head, tail;

static void *worker(void *unused) {
	for (;;) {
		struct epoll_event e;
		if (epoll_wait(poller, &e, 1, -1) != 1)
			continue;
		if (e.data.u32 == 99)
			return unused;
		struct connection *c = &connections[e.data.u32];
		eventfd_t n;
		eventfd_read(c->fd, &n);
		c->served += (long)n;
		pthread_mutex_lock(&lock);
		queue[tail++ % 16] = (int)e.data.u32;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
}

static void *rearms(void *unused) {
	for (int i = 0; i < 6; i++) {
		pthread_mutex_lock(&lock);
		while (head == tail)
			pthread_cond_wait(&more, &lock);
		int c = queue[head++ % 16];
		pthread_mutex_unlock(&lock);
		struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = (unsigned)c};
		epoll_ctl(poller, EPOLL_CTL_MOD, connections[c].fd, &e);
		eventfd_write(connections[c].fd, 1);
	}
	return unused;
}

int main(void) {
	poller = epoll_create1(0);
	stop_fd = eventfd(0, 0);
	for (unsigned i = 0; i < 2; i++) {
		connections[i].fd = eventfd(1, EFD_NONBLOCK);
		struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = i};
		epoll_ctl(poller, EPOLL_CTL_ADD, connections[i].fd, &e);
	}
	pthread_t t = start(worker, NULL), u = start(worker, NULL), r = start(rearms, NULL);
	pthread_join(r, NULL);
	rest(20);
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = 99};
	epoll_ctl(poller, EPOLL_CTL_ADD, stop_fd, &e);
	eventfd_write(stop_fd, 1);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return connections[0].served + connections[1].served < 6;
}
