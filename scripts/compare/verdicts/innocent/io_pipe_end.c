// Nothing is ever written into the pipe: the second half waits for its end, which the first thread makes by closing it after the first half.
// watch: data
#include "halves.h"
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	rest(15);
	close(p[1]);
	return unused;
}

static void *second(void *unused) {
	char c;
	if (read(p[0], &c, 1) == 0)
		late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	both(first, second);
	return data != 42;
}
