/* Accesses of a variable of four bytes by the kernel, which copies some byte by
 * byte; each system call is one access. */
#include "say.h"
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int shared;
static int *volatile where;

int main(void)
{
	int fd[2], pair[2], v;
	socklen_t size = sizeof v;
	struct timespec soon = {0, 1};

	i_am("main");
	where = &shared;
	MUST(pipe(fd) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 1; i <= 4; i++) {
		v = i * 0x01010101;
		MUST(write(fd[1], &v, sizeof v) == sizeof v && read(fd[0], where, sizeof v) == sizeof v);
		say("write %d by read(2)", v);
	}
	for (int i = 1; i <= 3; i++) {
		MUST(write(fd[1], where, sizeof v) == sizeof v);
		say("read %d by write(2)", v);
		MUST(read(fd[0], &v, sizeof v) == sizeof v);
	}
	struct iovec to = {where, sizeof v};
	v = 77;
	MUST(write(fd[1], &v, sizeof v) == sizeof v && readv(fd[0], &to, 1) == sizeof v);
	say("write 77 by readv(2)");
	MUST(syscall(SYS_futex, where, FUTEX_WAIT, 3, &soon, NULL, 0) == -1 && errno == EAGAIN);
	say("read 77 by futex(2)");
	MUST(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, where, &size) == 0);
	say("write %d by getsockopt(2)", SOCK_STREAM);
	MUST(*where == SOCK_STREAM);
	say("read %d", SOCK_STREAM);
	return 0;
}
