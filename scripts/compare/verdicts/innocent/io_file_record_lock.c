// Two threads change a plain variable under no mutex, but each holds a record lock of its own open file description (F_OFD_SETLKW).
// watch: total
#define _GNU_SOURCE
#include "turns.h"
#include <fcntl.h>
#include <unistd.h>

static long total;
static char name[64];

static void *adds(void *unused) {
	int fd = open(name, O_RDWR);
	struct flock l = {.l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	for (int i = 0; i < 4; i++) {
		l.l_type = F_WRLCK;
		need(!fcntl(fd, F_OFD_SETLKW, &l), "fcntl");
		total++;
		l.l_type = F_UNLCK;
		fcntl(fd, F_OFD_SETLK, &l);
		rest(4);
	}
	close(fd);
	return unused;
}

int main(void) {
	snprintf(name, sizeof name, "/tmp/innocent-record-%d", getpid());
	close(open(name, O_RDWR | O_CREAT, 0600));
	both(adds, adds);
	unlink(name);
	return total != 8;
}
