// The second half reads a pipe that the first half opened again by /proc/self/fd and wrote when it was over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	char n[32];
	snprintf(n, sizeof n, "/proc/self/fd/%d", p[1]);
	int w = open(n, O_WRONLY);
	need(write(w, "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	char c;
	need(read(p[0], &c, 1) == 1, "read");
	late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	both(first, second);
	return 0;
}
