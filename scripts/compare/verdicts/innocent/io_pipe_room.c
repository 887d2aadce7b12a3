// Nobody sends to the second thread: it writes into a full pipe, which can go on only when the first thread, after its half, has read the pipe empty.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static int p[2];
static char block[4096], taken[4096];

static void *first(void *unused) {
	early();
	rest(15);
	need(read(p[0], taken, sizeof taken) == sizeof taken, "read");
	return unused;
}

static void *second(void *unused) {
	if (write(p[1], block, sizeof block) == sizeof block)
		late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	fcntl(p[1], F_SETPIPE_SZ, 4096);
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	while (write(p[1], block, sizeof block) > 0)
		;
	fcntl(p[1], F_SETFL, 0);
	both(first, second);
	return data != 42;
}
