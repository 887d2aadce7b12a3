// Lists the file descriptors that it was given, and the signals that are
// blocked, ignored or pending: what a program must find as its parent left it.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void) {
	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	sigset_t blocked;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction old;
		if (sigismember(&blocked, s) == 1)
			printf("blocked %d\n", s);
		if (sigaction(s, NULL, &old) == 0 && old.sa_handler != SIG_DFL)
			printf("handled %d\n", s);
	}
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	printf("files %lu %lu\n", (unsigned long)files.rlim_cur, (unsigned long)files.rlim_max);
	printf("group %s session %s\n", getpgrp() == getppid() ? "of parent" : "own or older", getsid(0) == getpid() ? "own" : "older");
	return 0;
}
