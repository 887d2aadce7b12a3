// The second half reads from a program that was started by popen what the first half wrote to another one, which writes it into the same FIFO.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <unistd.h>

static FILE *to, *from;

static void *first(void *unused) {
	early();
	fputs("go\n", to);
	fflush(to);
	return unused;
}

static void *second(void *unused) {
	char line[8];
	need(!!fgets(line, sizeof line, from), "fgets");
	late();
	return unused;
}

int main(void) {
	char d[] = "/tmp/halves-XXXXXX", c[200];
	need(!!mkdtemp(d), "mkdtemp");
	snprintf(c, sizeof c, "mkfifo %s/f; head -1 > %s/f", d, d);
	to = popen(c, "w");
	snprintf(c, sizeof c, "until test -p %s/f; do sleep .01; done; cat %s/f; rm -r %s", d, d, d);
	from = popen(c, "r");
	both(first, second);
	return data != 42;
}
