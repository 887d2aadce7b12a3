// One thread changes a rate before it accepts a connection, the other after it has connected: the backlog has room, so
// that connect does not wait for accept.
//
// expect: race rate
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fortune.h"

static int listener;
static struct sockaddr_un name = {.sun_family = AF_UNIX};
static socklen_t size = sizeof(sa_family_t);
static long rate = 1;

static void *serves(void *unused) {
	chance();
	rate += 4;
	accept(listener, 0, 0);
	return unused;
}

static void *asks(void *unused) {
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	later(5);
	if (!connect(s, (void *)&name, size))
		rate *= 2;
	return unused;
}

int main(void) {
	pthread_t t, u;
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (void *)&name, size))
		return 1;
	size = sizeof name;
	if (listen(listener, 8) || getsockname(listener, (void *)&name, &size))
		return 1;
	pthread_create(&t, 0, serves, 0);
	pthread_create(&u, 0, asks, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return rate < 6;
}
