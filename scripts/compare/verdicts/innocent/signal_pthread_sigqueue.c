// Locks in opposite orders and plain data, but the second thread's sigwaitinfo returns only what pthread_sigqueue sent after the first half.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <signal.h>

static sigset_t set;

static void *waits(void *unused) {
	siginfo_t i;
	while (sigwaitinfo(&set, &i) != SIGRTMIN + 1)
		;
	late();
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_t t = start(waits, NULL);
	early();
	rest(20);
	pthread_sigqueue(t, SIGRTMIN + 1, (union sigval){.sival_int = 1});
	pthread_join(t, NULL);
	return data != 42;
}
