// The server reads what the client thread wrote under no lock, but accept returns a connection that the client asked for only afterwards.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static struct sockaddr_in address;
static socklen_t size = sizeof address;

static void *client(void *unused) {
	early();
	rest(15);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
	close(fd);
	return unused;
}

static void *server(void *unused) {
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		late();
	close(fd);
	return unused;
}

int main(void) {
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	need(!bind(listener, (struct sockaddr *)&address, sizeof address) && !listen(listener, 1), "listen");
	getsockname(listener, (struct sockaddr *)&address, &size);
	both(server, client);
	return data != 42;
}
