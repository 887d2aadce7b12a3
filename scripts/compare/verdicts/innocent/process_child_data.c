// Parent and child change a variable at one address under no lock, but it is private memory: each changes its own copy.
// watch: count
// args: --follow
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static long count;

static void *counts(void *unused) {
	for (int i = 0; i < 3; i++) {
		count++;
		rest(5);
	}
	return unused;
}

int main(void) {
	pid_t child = fork();
	need(child >= 0, "fork");
	pthread_join(start(counts, NULL), NULL);
	if (!child)
		_exit(count != 3);
	int status;
	waitpid(child, &status, 0);
	return status != 0 || count != 3;
}
