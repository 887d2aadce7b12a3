// The second half reads a temporary file, through a FILE of its own, until it has the line that the first half flushes when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <unistd.h>

static FILE *w, *r;

static void *first(void *unused) {
	early();
	fputs("over\n", w);
	fflush(w);
	return unused;
}

static void *second(void *unused) {
	char line[8];
	while (!fgets(line, sizeof line, r)) {
		clearerr(r);
		rest(1);
	}
	late();
	return unused;
}

int main(void) {
	char n[] = "/tmp/file-XXXXXX";
	w = fdopen(mkstemp(n), "w");
	r = fopen(n, "r");
	unlink(n);
	both(first, second);
	return 0;
}
