// The second thread waits by ppoll for POLLHUP: the first one hangs up after its half, by closing its end of a socket pair.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static int s[2];

static void *first(void *unused) {
	early();
	rest(15);
	close(s[0]);
	return unused;
}

static void *second(void *unused) {
	struct pollfd wanted = {.fd = s[1]};
	while (ppoll(&wanted, 1, NULL, NULL) != 1 || !(wanted.revents & POLLHUP))
		;
	late();
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	both(first, second);
	return data != 42;
}
