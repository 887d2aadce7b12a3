// No byte is sent over the local socket: accept itself waits for connect, which follows the first half.
// watch: data
#include "halves.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t size = sizeof address;

static void *first(void *unused) {
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	early();
	rest(15);
	need(!connect(fd, (struct sockaddr *)&address, size), "connect");
	close(fd);
	return unused;
}

static void *second(void *unused) {
	int fd = accept(listener, NULL, NULL);
	if (fd >= 0)
		late();
	close(fd);
	return unused;
}

int main(void) {
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t shortest = sizeof(sa_family_t);
	need(!bind(listener, (struct sockaddr *)&address, shortest) && !listen(listener, 1), "listen");
	getsockname(listener, (struct sockaddr *)&address, &size);
	both(first, second);
	return data != 42;
}
