// The second half polls a byte of a file that it has mapped, and which the first half writes by pwrite when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd;
static _Atomic char *byte;

static void *first(void *unused) {
	early();
	need(pwrite(fd, "x", 1, 0) == 1, "pwrite");
	return unused;
}

static void *second(void *unused) {
	while (!atomic_load(byte))
		rest(1);
	late();
	return unused;
}

int main(void) {
	char n[] = "/tmp/file-XXXXXX";
	fd = mkstemp(n);
	unlink(n);
	need(!ftruncate(fd, 4096), "ftruncate");
	byte = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	both(first, second);
	return 0;
}
