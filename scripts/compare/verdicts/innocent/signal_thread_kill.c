// The halves look unordered, but the second begins only when the signal's handler has run, which pthread_kill after the first half caused.
// watch: data
#include "halves.h"
#include <signal.h>

static volatile sig_atomic_t came;

static void handler(int n) { came = 1; }

static void *waits(void *unused) {
	sigset_t open;
	pthread_sigmask(SIG_BLOCK, NULL, &open);
	sigdelset(&open, SIGUSR1);
	while (!came)
		sigsuspend(&open);
	late();
	return unused;
}

int main(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, handler);
	pthread_t t = start(waits, NULL);
	rest(20);
	early();
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	return data != 42;
}
