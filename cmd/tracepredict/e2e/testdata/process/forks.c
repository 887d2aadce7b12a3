// Starts other processes in every way there is; two of them take locks in
// opposite orders, which is theirs alone.
#include "twist.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int ended(pid_t p) {
	int status = 0;
	if (waitpid(p, &status, 0) != p)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(void) {
	for (int i = 0; i < 2; i++) {
		pid_t p = fork();
		if (p == 0) {
			twist();
			_exit(30 + i);
		}
		printf("fork %d\n", ended(p));
	}
	pid_t v = vfork();
	if (v == 0) {
		execl("/bin/sh", "sh", "-c", "exit 40", NULL);
		_exit(99);
	}
	printf("vfork %d\n", ended(v));
	char *args[] = {"sh", "-c", "exit 41", NULL};
	pid_t s;
	if (posix_spawn(&s, "/bin/sh", NULL, NULL, args, environ) == 0)
		printf("spawn %d\n", ended(s));
	int sys = system("exit 42");
	printf("system %d\n", WEXITSTATUS(sys));
	FILE *pipe = popen("echo from a pipe", "r");
	char line[64] = "";
	if (pipe && fgets(line, sizeof line, pipe))
		printf("popen %s", line);
	printf("pclose %d\n", pclose(pipe));
	return 0;
}
