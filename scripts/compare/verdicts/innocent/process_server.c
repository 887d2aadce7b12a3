// The second half gets from a server (a child, by TCP) the answer that it gives only after the first half has sent it a request, when it was over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

static int connected(char who) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(s, (void *)&address, sizeof address) && write(s, &who, 1) == 1, "connect");
	return s;
}

static void serve(int s) {
	int waiting = -1, published = 0;
	while (waiting < 0 || !published) {
		char c;
		int a = accept(s, NULL, NULL);
		if (read(a, &c, 1) == 1 && c == 'w')
			waiting = a;
		else
			published = 1;
	}
	_exit(write(waiting, "x", 1) != 1);
}

static void *first(void *unused) {
	early();
	connected('p');
	return unused;
}

static void *second(void *unused) {
	char c;
	need(read(connected('w'), &c, 1) == 1, "read");
	late();
	return unused;
}

int main(void) {
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t n = sizeof address;
	int s = socket(AF_INET, SOCK_STREAM, 0);
	need(!bind(s, (void *)&address, n) && !listen(s, 2) && !getsockname(s, (void *)&address, &n), "listen");
	if (!fork())
		serve(s);
	both(first, second);
	return data != 42;
}
