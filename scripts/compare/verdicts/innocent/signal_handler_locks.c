// A handler locks the mutex that its own thread uses too, but the signal is blocked whenever the thread holds it: it arrives in sigsuspend alone.
#include "turns.h"
#include <signal.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;
static int entries;
static volatile sig_atomic_t came;

static void handler(int n) {
	pthread_mutex_lock(&list);
	entries++;
	pthread_mutex_unlock(&list);
	came = 1;
}

static void *works(void *unused) {
	sigset_t open;
	pthread_sigmask(SIG_BLOCK, NULL, &open);
	sigdelset(&open, SIGUSR1);
	for (int i = 0; i < 3; i++) {
		came = 0;
		pthread_mutex_lock(&list);
		entries++;
		pthread_mutex_unlock(&list);
		while (!came)
			sigsuspend(&open);
	}
	return unused;
}

int main(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, handler);
	pthread_t t = start(works, NULL);
	while (rest(2), pthread_mutex_lock(&list), entries < 6) {
		pthread_mutex_unlock(&list);
		pthread_kill(t, SIGUSR1);
	}
	pthread_mutex_unlock(&list);
	pthread_join(t, NULL);
	return 0;
}
