// Two threads wait with epoll for one descriptor that stays ready, and both handle it: neither is
// told that the other does.
//
// expect: race handled
// watch: handled
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fortune.h"

static int channel[2], poller, handled;

static void *handle(void *step) {
	struct epoll_event event;
	later((int)(long)step);
	if (epoll_wait(poller, &event, 1, -1) == 1)
		handled++;
	return 0;
}

int main(void) {
	pthread_t t, u;
	struct epoll_event event = {.events = EPOLLIN};
	if (pipe(channel))
		return 1;
	poller = epoll_create1(0);
	epoll_ctl(poller, EPOLL_CTL_ADD, channel[0], &event);
	pthread_create(&t, 0, handle, (void *)0);
	pthread_create(&u, 0, handle, (void *)1);
	int ok = write(channel[1], "x", 1) == 1;
	pthread_join(t, 0);
	pthread_join(u, 0);
	return !ok || handled != 2;
}
