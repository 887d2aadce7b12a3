// The second half sends until the send is refused, since the first half shuts down the other end when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/socket.h>

static int s[2];

static void *first(void *unused) {
	early();
	shutdown(s[1], SHUT_RD);
	return unused;
}

static void *second(void *unused) {
	while (send(s[0], "x", 1, MSG_NOSIGNAL) == 1)
		rest(1);
	late();
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	both(first, second);
	return data != 42;
}
