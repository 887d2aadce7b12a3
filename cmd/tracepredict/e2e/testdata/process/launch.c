// Runs a program as a shell with peculiar habits would: one signal blocked,
// SIGHUP ignored as by nohup, few files allowed, some open, as make and systemd give them.
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv) {
	sigset_t one;
	struct rlimit files;
	if (argc < 2)
		return 2;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	sigprocmask(SIG_BLOCK, &one, NULL);
	signal(SIGHUP, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = 300;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int fd = 3; fd <= 30; fd += fd < 6 ? 1 : 8)
		dup2(0, fd);
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
