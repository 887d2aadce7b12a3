// The halves share plain data and nest locks in opposite orders, but one byte through a pipe comes between them.
// watch: data
#include "halves.h"
#include <unistd.h>

static int p[2];

static void *first(void *unused) {
	early();
	rest(15);
	need(write(p[1], "x", 1) == 1, "write");
	return unused;
}

static void *second(void *unused) {
	char c;
	if (read(p[0], &c, 1) == 1)
		late();
	return unused;
}

int main(void) {
	need(!pipe(p), "pipe");
	both(first, second);
	return data != 42;
}
