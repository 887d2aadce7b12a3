// A condition's waiter is woken by a thread that gets signals: the signal thread sets the predicate under the lock, so the wake-up cannot be missed.
// watch: stop
#include "turns.h"
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stop;
static sigset_t set;

static void *signals(void *unused) {
	int n;
	sigwait(&set, &n);
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_mutex_unlock(&lock);
	pthread_cond_broadcast(&changed);
	return unused;
}

static void *serves(void *unused) {
	pthread_mutex_lock(&lock);
	while (!stop)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_t s = start(signals, NULL), t = start(serves, NULL);
	rest(20);
	kill(getpid(), SIGTERM);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return !stop;
}
