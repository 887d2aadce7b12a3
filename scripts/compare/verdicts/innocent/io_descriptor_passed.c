// The second half waits for a descriptor that the first thread passes over a socket pair (SCM_RIGHTS) after its half.
// watch: data
#include "halves.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int s[2];
union room { struct cmsghdr h; char space[CMSG_SPACE(sizeof(int))]; };

static void *first(void *unused) {
	early();
	rest(15);
	int passed = 0;
	union room r;
	memset(&r, 0, sizeof r);
	struct iovec v = {"x", 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &r, .msg_controllen = sizeof r};
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &passed, sizeof passed);
	need(sendmsg(s[0], &m, 0) == 1, "sendmsg");
	return unused;
}

static void *second(void *unused) {
	union room r;
	char c;
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &r, .msg_controllen = sizeof r};
	if (recvmsg(s[1], &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		late();
	return unused;
}

int main(void) {
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	both(first, second);
	return data != 42;
}
