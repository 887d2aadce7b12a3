// The halves are ordered by the end of a program: one thread starts it after its half, and the other asks by wait until a child has ended.
// watch: data
#include "halves.h"
#include <semaphore.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void *first(void *unused) {
	early();
	rest(15);
	pid_t child;
	need(!posix_spawn(&child, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, environ), "posix_spawn");
	return unused;
}

static void *second(void *unused) {
	while (wait(NULL) < 0)
		rest(1);
	late();
	return unused;
}

int main(void) {
	both(first, second);
	return data != 42;
}
