// The second half first waits for the end of a child (waitid that asks for no information), which the first half ends when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void *first(void *unused) {
	early();
	kill(child, SIGKILL);
	return unused;
}

static void *second(void *unused) {
	need(!waitid(P_PID, (id_t)child, NULL, WEXITED), "waitid");
	late();
	return unused;
}

int main(void) {
	child = fork();
	if (!child)
		for (;;)
			pause();
	both(first, second);
	return data != 42;
}
