// The second half first receives two datagrams at once (recvmmsg), which the first half sends by one call (sendmmsg) when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/socket.h>
#include <sys/uio.h>

static int s[2];

static void *first(void *unused) {
	early();
	char c[2] = "ab";
	struct iovec v[2] = {{&c[0], 1}, {&c[1], 1}};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &v[0], .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &v[1], .msg_iovlen = 1}}};
	need(sendmmsg(s[0], m, 2, 0) == 2, "sendmmsg");
	return unused;
}

static void *second(void *unused) {
	char c[2];
	struct iovec v[2] = {{&c[0], 1}, {&c[1], 1}};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &v[0], .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &v[1], .msg_iovlen = 1}}};
	need(recvmmsg(s[1], m, 2, 0, NULL) > 0, "recvmmsg");
	late();
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, s), "socketpair");
	both(first, second);
	return 0;
}
