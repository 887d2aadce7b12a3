// A descriptor is handed on through a socket by its number; who gets it reads from it, changes the plain note of who owns it and closes it.
#include "turns.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static int owner[1024];

static void *gives(void *unused) {
	int fd = open("/dev/zero", O_RDONLY);
	owner[fd] = 1;
	need(send(ends[0], &fd, sizeof fd, 0) == sizeof fd, "send");
	return unused;
}

static void *takes(void *unused) {
	int fd;
	char c;
	need(recv(ends[1], &fd, sizeof fd, 0) == sizeof fd, "recv");
	owner[fd]++;
	need(read(fd, &c, 1) == 1, "read");
	close(fd);
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), "socketpair");
	both(gives, takes);
	return 0;
}
