// The second half waits until its child has been stopped (waitpid with WUNTRACED), which the first half does by SIGSTOP when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void *first(void *unused) {
	early();
	kill(child, SIGSTOP);
	return unused;
}

static void *second(void *unused) {
	int status;
	need(waitpid(child, &status, WUNTRACED) == child, "waitpid");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	late();
	return unused;
}

int main(void) {
	child = fork();
	if (!child)
		for (;;)
			pause();
	both(first, second);
	return 0;
}
