// Each thread counts in a table by the number of a descriptor while it has that open, whether by open, pipe or dup, and closes it afterwards: only then can another call return the number.
#include "turns.h"
#include <fcntl.h>
#include <unistd.h>

static long uses[64];

static void used(int fd) {
	need(fd >= 0 && fd < 64, "descriptor");
	uses[fd]++;
}

static void *opens(void *unused) {
	int fd = open("/dev/null", O_RDONLY);
	used(fd);
	close(fd);
	return unused;
}

static void *pipes(void *unused) {
	int fds[2];
	rest(40);
	need(!pipe(fds), "pipe");
	used(fds[0]);
	used(fds[1]);
	close(fds[0]);
	close(fds[1]);
	return unused;
}

static void *copies(void *unused) {
	rest(80);
	int fd = dup(0), second = fcntl(0, F_DUPFD, 3);
	used(fd);
	used(second);
	dup2(0, fd);
	used(fd);
	close(fd);
	close(second);
	return unused;
}

int main(void) {
	pthread_t s = start(opens, NULL), t = start(pipes, NULL), u = start(copies, NULL);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
