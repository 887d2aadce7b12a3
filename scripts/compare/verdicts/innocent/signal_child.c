// Locks in opposite orders and plain data, but the second thread waits for SIGCHLD, and the child that it reports was ended through a pipe after the first half.
// watch: data
#include "halves.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t set;

static void *second(void *unused) {
	int n;
	sigwait(&set, &n);
	late();
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	int p[2];
	need(!pipe(p), "pipe");
	pid_t child = fork();
	if (!child) {
		char c;
		close(p[1]);
		_exit(read(p[0], &c, 1) != 0);
	}
	close(p[0]);
	pthread_t t = start(second, NULL);
	rest(10);
	early();
	close(p[1]);
	pthread_join(t, NULL);
	waitpid(child, NULL, 0);
	return data != 42;
}
