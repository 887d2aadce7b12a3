// A thread looks whether the signal has come and sleeps by sigsuspend, which lets the signal in only while it sleeps: it was blocked before the look.
#include "turns.h"
#include <signal.h>

static volatile sig_atomic_t come;

static void handler(int number) {
	(void)number;
	come = 1;
}

static void *waits(void *unused) {
	sigset_t asleep;
	pthread_sigmask(SIG_SETMASK, NULL, &asleep);
	sigdelset(&asleep, SIGUSR1);
	while (!come)
		sigsuspend(&asleep);
	return unused;
}

int main(void) {
	sigset_t blocked;
	signal(SIGUSR1, handler);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	pthread_t t = start(waits, NULL);
	rest(200);
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	return 0;
}
