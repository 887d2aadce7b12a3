// The reader of a connection is woken by a shutdown of its own end, and reads the reason, which is written only after that.
//
// watch: reason
// expect: race reason
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "fortune.h"

static int client, server;
static long reason, seen;

static void *reads(void *unused) {
	char c;
	while (recv(server, &c, 1, 0) > 0)
		;
	later(1);
	seen = reason;
	return unused;
}

int main(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof at;
	pthread_t reader;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&at, size) || listen(listener, 1) || getsockname(listener, (void *)&at, &size))
		return 1;
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(client, (void *)&at, size))
		return 1;
	server = accept(listener, 0, 0);
	pthread_create(&reader, 0, reads, 0);
	later(1);
	shutdown(server, SHUT_RDWR);
	chance();
	reason = 7;
	pthread_join(reader, 0);
	return seen != 7;
}
