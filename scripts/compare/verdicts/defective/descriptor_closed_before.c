// What belongs to a connection is counted after its descriptor was closed, when accept may have returned the number to another thread.
//
// expect: race bytes
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fortune.h"

static struct connection {
	long requests, bytes;
} connections[64];

static int connected(const struct sockaddr_un *to) {
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	connect(fd, (const void *)to, sizeof *to);
	return fd;
}

static int accepted(int listener) {
	int fd = accept(listener, 0, 0);
	if (fd < 0 || fd > 63)
		_exit(1);
	connections[fd].requests = 1;
	connections[fd].bytes = 0;
	return fd;
}

static void *serves(void *p) {
	int fd = (int)(long)p;
	close(fd);
	chance();
	connections[fd].bytes += 100;
	return 0;
}

int main(void) {
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tracepredict-accepted-%d", getpid());
	if (bind(listener, (void *)&name, sizeof name) || listen(listener, 8))
		return 1;
	int clients[2] = {connected(&name), connected(&name)};
	pthread_t s, t;
	pthread_create(&s, 0, serves, (void *)(long)accepted(listener));
	later(2);
	pthread_create(&t, 0, serves, (void *)(long)accepted(listener));
	pthread_join(s, 0);
	pthread_join(t, 0);
	close(clients[0]);
	close(clients[1]);
	return 0;
}
