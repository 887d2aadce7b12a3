// A thread reads a directory, and the first thread closes it.
#include <dirent.h>

#include "twice.h"

static void *reads(void *d)
{
	readdir(d);
	return NULL;
}

static void closes(void *d) { closedir(d); }

int main(int argc, char **argv)
{
	DIR *d = opendir("/");

	if (!d || opendir("/nonexistent"))
		return 1;
	use_and_dispose(argc, argv, reads, closes, d);
	d = opendir("/"); // another one, at the same address or not
	if (!d)
		return 1;
	readdir(d);
	closedir(d);
	return 0;
}
