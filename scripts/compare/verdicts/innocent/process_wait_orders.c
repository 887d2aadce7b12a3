// Locks in opposite orders and plain data, but the second thread first waits for a child (waitpid) that only ends when the first thread, after its half, ends it.
// watch: data
#include "halves.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void *first(void *unused) {
	early();
	rest(15);
	kill(child, SIGTERM);
	return unused;
}

static void *second(void *unused) {
	int status;
	if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
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
