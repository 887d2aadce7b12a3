// A thread writes into a pipe, and the first thread closes it; and descriptors in use as they should be, some of which the
// C library opens and closes itself.
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "twice.h"

static void *writes(void *fd)
{
	if (write(*(int *)fd, "x", 1) != 1)
		abort();
	return NULL;
}

static void closes(void *fd) { close(*(int *)fd); }

// The number of a descriptor that was closed is that of one that the C library opens.
static void again(void)
{
	char line[8];
	FILE *f;
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	f = fopen("/dev/zero", "r");
	if (!f || fileno(f) != fd || fread(line, 1, sizeof(line), f) != sizeof(line))
		abort();
	fclose(f);
	f = popen("true", "r"); // a pipe, of which the C library closes an end
	if (!f || read(fileno(f), line, sizeof(line)))
		abort();
	pclose(f);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0, 0}))
		abort();
	close(fd);
}

int main(int argc, char **argv)
{
	int ends[2];

	if (open("/nonexistent/file", O_RDONLY) >= 0)
		return 1;
	close(-1);
	for (int i = 0; i < 3; i++)
		again();
	if (pipe(ends))
		return 1;
	use_and_dispose(argc, argv, writes, closes, &ends[1]);
	close(ends[0]);
	return 0;
}
