// Two threads change a plain variable under no mutex, but each holds the exclusive flock of a file that it opened itself.
// watch: total
#include "turns.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static long total;
static char name[64];

static void *adds(void *unused) {
	int fd = open(name, O_RDWR);
	for (int i = 0; i < 4; i++) {
		flock(fd, LOCK_EX);
		total++;
		flock(fd, LOCK_UN);
		rest(4);
	}
	close(fd);
	return unused;
}

int main(void) {
	snprintf(name, sizeof name, "/tmp/innocent-flock-%d", getpid());
	close(open(name, O_RDWR | O_CREAT, 0600));
	both(adds, adds);
	unlink(name);
	return total != 8;
}
