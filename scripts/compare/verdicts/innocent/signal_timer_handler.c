// The handler of an interval timer reads in a second thread what main wrote without a lock, but main wrote it before setitimer.
// watch: budget, spent
#include "turns.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static int budget, spent;
static volatile sig_atomic_t rang;

static void handler(int n) {
	spent = budget;
	rang = 1;
}

static void *works(void *unused) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!rang)
		usleep(1000);
	return unused;
}

int main(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGALRM, handler);
	pthread_t t = start(works, NULL);
	rest(10);
	budget = 100;
	struct itimerval soon = {.it_value = {0, 10000}};
	setitimer(ITIMER_REAL, &soon, NULL);
	pthread_join(t, NULL);
	return spent != 100;
}
