// A pipe in an epoll set in an epoll set can be read before the letter is written: epoll_wait orders what came
// before the write into the pipe, and the letter came after.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fortune.h"

static int letter, outer, channel[2];

static void *first(void *unused) {
	if (write(channel[1], "x", 1) == 1)
		letter = 41;
	return unused;
}

static void *second(void *unused) {
	struct epoll_event e;
	if (epoll_wait(outer, &e, 1, -1) != 1)
		return 0;
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	struct epoll_event e = {.events = EPOLLIN};
	int inner = epoll_create1(0);
	outer = epoll_create1(0);
	if (pipe(channel))
		return 1;
	epoll_ctl(inner, EPOLL_CTL_ADD, channel[0], &e);
	epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e);
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letter != 42;
}
