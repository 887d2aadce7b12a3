// kill is sent to the whole process, but only one thread has the signal unblocked: its second half comes after the handler, and so after the first half.
// watch: data
#include "halves.h"
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t came;

static void handler(int n) { came = 1; }

static void *waits(void *unused) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!came)
		usleep(500);
	late();
	return unused;
}

int main(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR2, handler);
	pthread_t t = start(waits, NULL);
	rest(20);
	early();
	kill(getpid(), SIGUSR2);
	pthread_join(t, NULL);
	return data != 42;
}
