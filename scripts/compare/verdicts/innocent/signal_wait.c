// Locks in opposite orders and plain data, but sigwait returns only after kill, which follows the first half; the signal is blocked everywhere.
// watch: data
#include "halves.h"
#include <signal.h>
#include <unistd.h>

static sigset_t set;

static void *first(void *unused) {
	early();
	rest(20);
	kill(getpid(), SIGUSR1);
	return unused;
}

static void *second(void *unused) {
	int n;
	if (!sigwait(&set, &n))
		late();
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	both(first, second);
	return data != 42;
}
