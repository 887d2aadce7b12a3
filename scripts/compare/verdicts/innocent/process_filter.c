// The second half reads from a child (cat, by two pipes) the byte that the first half wrote to it when it was over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/wait.h>
#include <unistd.h>

static int to[2], from[2];

static void *first(void *unused) {
	early();
	need(write(to[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	char c;
	need(read(from[0], &c, 1) == 1, "read");
	late();
	return unused;
}

int main(void) {
	need(!pipe(to) && !pipe(from), "pipe");
	pid_t p = fork();
	if (!p) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	both(first, second);
	return data != 42;
}
