// The second half first waits (aio_suspend) for the end of a read from a pipe, into which the first half writes when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <aio.h>
#include <errno.h>
#include <unistd.h>

static int p[2];
static char c;
static struct aiocb request;

static void *first(void *unused) {
	early();
	need(write(p[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	const struct aiocb *all[1] = {&request};
	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(all, 1, NULL);
	late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	request = (struct aiocb){.aio_fildes = p[0], .aio_buf = &c, .aio_nbytes = 1};
	need(!aio_read(&request), "aio_read");
	both(first, second);
	return 0;
}
