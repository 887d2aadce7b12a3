// A thread closes a socket, and another one is handed a file in a message (SCM_RIGHTS) that is given the number again: it reads that and closes it, under no lock.
#include "turns.h"
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

static int channel[2];

static int received() {
	char byte, room[CMSG_SPACE(sizeof(int))];
	iovec v = {&byte, 1};
	msghdr m{};
	m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = room, m.msg_controllen = sizeof room;
	need(recvmsg(channel[1], &m, 0) == 1, "recvmsg");
	int fd;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static void sent(int fd) {
	char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {};
	iovec v = {&byte, 1};
	msghdr m{};
	m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = room, m.msg_controllen = sizeof room;
	cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	need(sendmsg(channel[0], &m, 0) == 1, "sendmsg");
}

int main() {
	int own[2];
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, channel) && !socketpair(AF_UNIX, SOCK_STREAM, 0, own), "socketpair");
	int file = open("/dev/null", O_RDONLY);
	sent(file);
	std::thread closes([&] {
		need(write(own[0], "x", 1) == 1, "write");
		close(own[0]);
	});
	std::thread receives([&] {
		rest(40);
		char byte;
		int fd = received();
		need(read(fd, &byte, 1) == 0, "read");
		close(fd);
	});
	closes.join();
	receives.join();
}
