// The halves are kept apart and in order by nothing but a directory that one removes and the other can make only then (mkdir fails while it is there).
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <sys/stat.h>
#include <unistd.h>

static char name[] = "/tmp/lock-XXXXXX";

static void *first(void *unused) {
	early();
	rmdir(name);
	return unused;
}

static void *second(void *unused) {
	while (mkdir(name, 0700))
		rest(1);
	late();
	rmdir(name);
	return unused;
}

int main(void) {
	need(!!mkdtemp(name), "mkdtemp");
	both(first, second);
	return 0;
}
