// The second half waits until a blocked signal is pending for the process, which the first half sends when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <signal.h>
#include <unistd.h>

static sigset_t usr1;

static void *first(void *unused) {
	early();
	kill(getpid(), SIGUSR1);
	return unused;
}

static void *second(void *unused) {
	for (;; rest(1)) {
		sigset_t s;
		sigpending(&s);
		if (sigismember(&s, SIGUSR1))
			break;
	}
	late();
	return unused;
}

int main(void) {
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	both(first, second);
	return 0;
}
