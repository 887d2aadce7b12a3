// The server's accept never gets a connection: it fails because another thread, after the first half, shuts the listener down, and then the second half runs.
// watch: data
#include "halves.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

static int listener;

static void *first(void *unused) {
	early();
	rest(15);
	shutdown(listener, SHUT_RDWR);
	return unused;
}

static void *second(void *unused) {
	if (accept(listener, NULL, NULL) < 0 && errno == EINVAL)
		late();
	return unused;
}

int main(void) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	need(!bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) && !listen(listener, 1), "listen");
	both(second, first);
	return data != 42;
}
