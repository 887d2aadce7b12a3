// The second half opens a file again and again until it is there, and the first half renames it into its place when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static char before[] = "/tmp/file-XXXXXX", after[40];

static void *first(void *unused) {
	early();
	need(!rename(before, after), "rename");
	return unused;
}

static void *second(void *unused) {
	int fd;
	while ((fd = open(after, O_RDONLY)) < 0)
		rest(1);
	unlink(after);
	late();
	return unused;
}

int main(void) {
	close(mkstemp(before));
	snprintf(after, sizeof after, "%s.pid", before);
	both(first, second);
	return 0;
}
