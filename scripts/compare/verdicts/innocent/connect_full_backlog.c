// The second half connects to a socket whose backlog is full, and is let in only when the first half, which is over then, accepts who came before.
#define _GNU_SOURCE
#include "halves.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener;
static struct sockaddr_un name = {.sun_family = AF_UNIX};
static socklen_t size = sizeof(sa_family_t);

static void *first(void *unused) {
	rest(200);
	early();
	need(accept(listener, NULL, NULL) >= 0, "accept");
	return unused;
}

static void *second(void *unused) {
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	need(!connect(s, (void *)&name, size), "connect");
	late();
	return unused;
}

int main(void) {
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	need(!bind(listener, (void *)&name, size), "bind");
	size = sizeof name;
	need(!listen(listener, 0) && !getsockname(listener, (void *)&name, &size), "listen");
	int before = socket(AF_UNIX, SOCK_STREAM, 0);
	need(!connect(before, (void *)&name, size), "connect");
	both(first, second);
	return 0;
}
