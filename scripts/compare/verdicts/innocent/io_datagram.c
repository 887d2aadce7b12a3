// Two threads pass a plain counter to and fro under no lock, but only the one that received the last datagram touches it.
// watch: ball
#include "turns.h"
#include <sys/socket.h>
#include <unistd.h>

static int s[2], ball;

static void play(int fd, int serve) {
	char c = 'x';
	for (int i = 0; i < 4; i++) {
		if (!(serve && i == 0))
			need(read(fd, &c, 1) == 1, "read");
		ball++;
		need(write(fd, &c, 1) == 1, "write");
	}
}

static void *serves(void *unused) {
	rest(10);
	play(s[0], 1);
	return unused;
}

static void *returns(void *unused) {
	play(s[1], 0);
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, s), "socketpair");
	both(serves, returns);
	return ball != 8;
}
