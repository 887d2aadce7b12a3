// A thread sends on a socket, and the first thread says that nothing more is sent; and sockets in use as they should be.
#include <netinet/in.h>
#include <sys/socket.h>

#include "twice.h"

static void *sends(void *s)
{
	if (send(*(int *)s, "x", 1, 0) != 1)
		abort();
	return NULL;
}

static void ends(void *s) { shutdown(*(int *)s, SHUT_WR); }

// Returns the address of a socket that is bound to a port of its own.
static struct sockaddr_in bound(int s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);

	if (bind(s, (void *)&a, sizeof(a)) || getsockname(s, (void *)&a, &size))
		abort();
	return a;
}

static void *serves(void *listener)
{
	char c;
	int s = accept(*(int *)listener, NULL, NULL);

	while (recv(s, &c, 1, 0) == 1)
		if (send(s, &c, 1, 0) != 1)
			abort();
	close(s);
	return NULL;
}

// A server that listens before its thread is there, and a client that sends no more before it has read all.
static void talk(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = bound(listener);
	pthread_t t;
	char c;

	if (listen(listener, 1) || pthread_create(&t, NULL, serves, &listener) || connect(s, (void *)&a, sizeof(a)))
		abort();
	if (send(s, "y", 1, 0) != 1)
		abort();
	shutdown(s, SHUT_WR);
	while (recv(s, &c, 1, 0) == 1)
		;
	close(s);
	pthread_join(t, NULL);
	close(listener);
}

int main(int argc, char **argv)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = bound(s);

	talk();
	talk();
	if (connect(s, (void *)&a, sizeof(a)))
		return 1;
	use_and_dispose(argc, argv, sends, ends, &s);
	close(s);
	return 0;
}
