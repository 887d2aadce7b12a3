// The second half first reads what a third thread moved by splice from one pipe to another, and the first half wrote into the first pipe when it was over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static int in[2], out[2];

static void *moves(void *unused) {
	need(splice(in[0], NULL, out[1], NULL, 1, 0) == 1, "splice");
	return unused;
}

static void *first(void *unused) {
	early();
	need(write(in[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	char c;
	need(read(out[0], &c, 1) == 1, "read");
	late();
	return unused;
}

int main(void) {
	need(!pipe(in) && !pipe(out), "pipe");
	pthread_detach(start(moves, NULL));
	both(first, second);
	return data != 42;
}
