// What belongs to a connection lies in a table by the number of its descriptor, under no lock: a thread serves it and then closes the descriptor, and accept returns the number to another thread only after that.
#include "turns.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct connection {
	long requests, bytes;
} connections[64];

static int connected(const struct sockaddr_un *to) {
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	need(fd >= 0 && !connect(fd, (const void *)to, sizeof *to), "connect");
	return fd;
}

static int accepted(int listener) {
	int fd = accept(listener, NULL, NULL);
	need(fd >= 0 && fd < 64, "accept");
	connections[fd].requests = 1;
	connections[fd].bytes = 0;
	return fd;
}

static void *serves(void *p) {
	int fd = (int)(long)p;
	connections[fd].bytes += 100;
	rest(20);
	close(fd);
	return NULL;
}

int main(void) {
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "tracepredict-accepted-%d", getpid());
	need(!bind(listener, (void *)&name, sizeof name) && !listen(listener, 8), "listen");
	int clients[2] = {connected(&name), connected(&name)};
	pthread_t s = start(serves, (void *)(long)accepted(listener));
	rest(80);
	pthread_t t = start(serves, (void *)(long)accepted(listener));
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	close(clients[0]);
	close(clients[1]);
	return 0;
}
