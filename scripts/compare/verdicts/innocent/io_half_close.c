// No byte crosses the connection: recv returns its end because shutdown(SHUT_WR) follows the first half.
// watch: data
#include "halves.h"
#include <sys/socket.h>

static int s[2];

static void *first(void *unused) {
	early();
	rest(15);
	shutdown(s[0], SHUT_WR);
	return unused;
}

static void *second(void *unused) {
	char c;
	if (recv(s[1], &c, 1, 0) == 0)
		late();
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	both(second, first);
	return data != 42;
}
