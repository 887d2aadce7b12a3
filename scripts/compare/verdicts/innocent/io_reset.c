// The second half waits until its connection is reset or at its end, which the first half brings about by the close of the other end when it is over; the answer is an error of recv, not an end.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

static int a, b;

static void *first(void *unused) {
	early();
	struct linger l = {1, 0};
	setsockopt(a, SOL_SOCKET, SO_LINGER, &l, sizeof l);
	close(a);
	return unused;
}

static void *second(void *unused) {
	char c;
	need(recv(b, &c, 1, 0) == -1, "recv");
	late();
	return unused;
}

int main(void) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in n = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t z = sizeof n;
	need(!bind(s, (void *)&n, z) && !listen(s, 1) && !getsockname(s, (void *)&n, &z), "listen");
	b = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(b, (void *)&n, z), "connect");
	a = accept(s, NULL, NULL);
	both(first, second);
	return data != 42;
}
