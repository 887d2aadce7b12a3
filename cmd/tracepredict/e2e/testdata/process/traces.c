// Forks a child that takes locks in opposite orders, and traces it, in the way
// that the argument names.
#include "twist.h"
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int go[2]; // a pipe: the child goes on when it is closed

static void await(void) {
	char c;
	close(go[1]);
	while (read(go[0], &c, 1) < 0 && errno == EINTR)
		;
}

static int child(const char *how, char *self) {
	if (!strcmp(how, "me") || !strcmp(how, "exec")) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			perror("child: traceme");
		raise(SIGSTOP); // if nobody traces it, it stops for ever
	} else {
		await();
	}
	if (!strcmp(how, "exec")) {
		execl(self, self, "plain", NULL);
		return 99;
	}
	twist();
	return 30;
}

// Handles the stops of a traced child until it ends.
static int ended(pid_t p) {
	int status = 0;
	while (waitpid(p, &status, 0) == p && WIFSTOPPED(status))
		if (ptrace(PTRACE_CONT, p, 0, WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status)))
			perror("cont");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "plain";
	if (!strcmp(how, "self")) {
		printf("self %s\n", ptrace(PTRACE_TRACEME, 0, 0, 0) ? strerror(errno) : "traced");
		twist();
		return 0;
	}
	if (pipe(go))
		return 1;
	pid_t p = fork();
	if (p == 0)
		_exit(child(how, argv[0]));
	if (!strcmp(how, "seize") && ptrace(PTRACE_SEIZE, p, 0, 0))
		perror("seize");
	if (!strcmp(how, "attach") && ptrace(PTRACE_ATTACH, p, 0, 0))
		perror("attach");
	close(go[0]);
	close(go[1]);
	int status = ended(p);
	printf("%s %d\n", how, status);
	return status;
}
