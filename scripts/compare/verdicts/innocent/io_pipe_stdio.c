// The halves are ordered by a line that one thread prints into a pipe by stdio and the other reads by fgets.
// watch: data
#include "halves.h"
#include <string.h>
#include <unistd.h>

static FILE *in, *out;

static void *first(void *unused) {
	early();
	rest(10);
	fprintf(out, "ready %d\n", 1);
	fflush(out);
	return unused;
}

static void *second(void *unused) {
	char line[32];
	if (fgets(line, sizeof line, in) && !strcmp(line, "ready 1\n"))
		late();
	return unused;
}

int main(void) {
	int p[2];
	need(!pipe(p), "pipe");
	in = fdopen(p[0], "r");
	out = fdopen(p[1], "w");
	both(first, second);
	fclose(in);
	fclose(out);
	return data != 42;
}
