// A thread writes a line to a stream, and the first thread closes it.
#include <stdio.h>

#include "twice.h"

static void *writes(void *f)
{
	fprintf(f, "%d lines\n", getpid() > 0);
	fflush(NULL); // all streams: no stream of its own
	return NULL;
}

static void closes(void *f) { fclose(f); }

int main(int argc, char **argv)
{
	FILE *f;

	if (fopen("/nonexistent/file", "r")) // no stream
		return 1;
	f = fopen("/dev/null", "w");
	if (!f)
		return 1;
	fputs("begin\n", f);
	use_and_dispose(argc, argv, writes, closes, f);
	f = fopen("/dev/null", "w"); // another stream, at the same address or not
	if (!f)
		return 1;
	fputs("end\n", f);
	fclose(f);
	f = popen("true", "r");
	if (!f)
		return 1;
	fgetc(f);
	pclose(f);
	puts("done");
	return 0;
}
