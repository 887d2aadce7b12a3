// The second half waits in recv on a connection until the first half, when it is over, shuts down that same end of it: nobody sends anything, and the other end stays open.
// watch: data
#include "halves.h"
#include <arpa/inet.h>
#include <sys/socket.h>

static int client, server;

static void *first(void *unused) {
	rest(30);
	early();
	shutdown(server, SHUT_RDWR);
	return unused;
}

static void *second(void *unused) {
	char c;
	need(recv(server, &c, 1, 0) == 0, "recv");
	late();
	return unused;
}

int main(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	need(!bind(listener, (void *)&at, size) && !listen(listener, 1) && !getsockname(listener, (void *)&at, &size), "listen");
	client = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(client, (void *)&at, size), "connect");
	server = accept(listener, NULL, NULL);
	both(first, second);
	return data != 42;
}
