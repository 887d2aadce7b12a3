// A handler that runs in whichever thread the process's signal reaches counts in a plain variable
// that main counts in too: only the other thread takes the signal.
//
// expect: race count
// watch: count
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "fortune.h"

static int count;

static void handler(int signal) {
	(void)signal;
	count++;
}

static void *idle(void *unused) {
	sigset_t usr1;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &usr1, 0);
	later(2);
	return unused;
}

int main(void) {
	struct sigaction action = {.sa_handler = handler};
	sigset_t usr1;
	pthread_t t;
	sigaction(SIGUSR1, &action, 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, 0);
	pthread_create(&t, 0, idle, 0);
	kill(getpid(), SIGUSR1);
	later(1);
	count++;
	pthread_join(t, 0);
	printf("%d\n", count);
	return 0;
}
