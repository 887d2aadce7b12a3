// The halves are ordered by a signal that is read from a signalfd: it is sent after the first half, the read returns it before the second.
// watch: data
#include "halves.h"
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int fd;

static void *first(void *unused) {
	early();
	rest(15);
	kill(getpid(), SIGUSR1);
	return unused;
}

static void *second(void *unused) {
	struct signalfd_siginfo i;
	if (read(fd, &i, sizeof i) == sizeof i)
		late();
	return unused;
}

int main(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	both(first, second);
	return data != 42;
}
