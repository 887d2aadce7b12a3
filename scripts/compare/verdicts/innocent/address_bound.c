// The second half binds a socket to a port, which is refused (EADDRINUSE) until the first half closes its own.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int mine;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void *first(void *unused) {
	early();
	close(mine);
	return unused;
}

static void *second(void *unused) {
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	while (bind(s, (void *)&address, sizeof address))
		rest(1);
	late();
	return unused;
}

int main(void) {
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t n = sizeof address;
	mine = socket(AF_INET, SOCK_DGRAM, 0);
	need(!bind(mine, (void *)&address, n) && !getsockname(mine, (void *)&address, &n), "bind");
	both(first, second);
	return 0;
}
