// The handler changes a structure that main filled without a lock, but sigqueue handed its address over, and main looks again only after the join.
// watch: letter.words
#include "turns.h"
#include <signal.h>
#include <unistd.h>

static struct { long words; } letter;
static volatile sig_atomic_t came;

static void handler(int n, siginfo_t *i, void *context) {
	if (i->si_value.sival_ptr == &letter)
		letter.words++;
	came = 1;
}

static void *waits(void *unused) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!came)
		usleep(500);
	return unused;
}

int main(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGRTMIN, &act, NULL);
	pthread_t t = start(waits, NULL);
	rest(20);
	letter.words = 41;
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_ptr = &letter});
	pthread_join(t, NULL);
	return letter.words != 42;
}
