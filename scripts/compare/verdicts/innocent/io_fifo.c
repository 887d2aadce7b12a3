// The open of a FIFO for reading waits for one who opens it for writing, which the first thread does after its half; no byte is written.
// watch: data
#include "halves.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char name[64];

static void *first(void *unused) {
	early();
	rest(15);
	close(open(name, O_WRONLY));
	return unused;
}

static void *second(void *unused) {
	int fd = open(name, O_RDONLY);
	if (fd >= 0)
		late();
	close(fd);
	return unused;
}

int main(void) {
	snprintf(name, sizeof name, "/tmp/innocent-fifo-%d", getpid());
	need(!mkfifo(name, 0600), "mkfifo");
	both(second, first);
	unlink(name);
	return data != 42;
}
