// The second thread never reads the pipe: poll alone tells it that a byte is there, which was written after the first half.
// watch: data
#include "halves.h"
#include <poll.h>
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	rest(15);
	need(write(p[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	struct pollfd wanted = {.fd = p[0], .events = POLLIN};
	if (poll(&wanted, 1, -1) == 1)
		late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	both(first, second);
	return data != 42;
}
