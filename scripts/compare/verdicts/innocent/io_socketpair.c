// The halves share plain data and nest locks in opposite orders, but the second waits for a message over a socket pair that follows the first.
// watch: data
#include "halves.h"
#include <sys/socket.h>

static int s[2];

static void *first(void *unused) {
	early();
	rest(15);
	need(send(s[0], "go", 2, 0) == 2, "send");
	return unused;
}

static void *second(void *unused) {
	char text[2];
	if (recv(s[1], text, 2, MSG_WAITALL) == 2)
		late();
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	both(first, second);
	return data != 42;
}
