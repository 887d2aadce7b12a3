// The second half first waits for a lock of an open file description (F_OFD_SETLKW), which the first half has from the beginning and unlocks when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <unistd.h>

static int mine, yours;

static int set(int fd, short type) {
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
	return fcntl(fd, F_OFD_SETLKW, &l);
}

static void *first(void *unused) {
	early();
	set(mine, F_UNLCK);
	return unused;
}

static void *second(void *unused) {
	need(!set(yours, F_WRLCK), "lock");
	late();
	return unused;
}

int main(void) {
	char name[] = "/tmp/record-XXXXXX";
	mine = mkstemp(name);
	yours = open(name, O_RDWR);
	unlink(name);
	need(!set(mine, F_WRLCK), "lock");
	both(first, second);
	return 0;
}
