// The second half is ordered by a child process that passes on a byte: the first thread writes to it, it writes to the second.
// watch: data
// args: --follow
#include "halves.h"
#include <sys/wait.h>
#include <unistd.h>

static int to[2], from[2];

static void *first(void *unused) {
	early();
	rest(15);
	need(write(to[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	char c;
	if (read(from[0], &c, 1) == 1)
		late();
	return unused;
}

int main(void) {
	need(!pipe(to) && !pipe(from), "pipe");
	pid_t child = fork();
	if (!child) {
		char c;
		_exit(read(to[0], &c, 1) != 1 || write(from[1], &c, 1) != 1);
	}
	both(first, second);
	waitpid(child, NULL, 0);
	return data != 42;
}
