// The collector changes a worker's counter without a lock, but only while the worker stands still in a signal handler at its safe point, as for garbage collection.
// watch: reachable
#include "turns.h"
#include <semaphore.h>
#include <signal.h>

static long reachable;
static sem_t stopped, resumed;
static volatile sig_atomic_t goes_on, last;
static sigset_t suspended;

static void stop(int n) {
	goes_on = 0;
	sem_post(&stopped);
	while (!goes_on)
		sigsuspend(&suspended);
	sem_post(&resumed);
	last = 1;
}

static void resume(int n) { goes_on = 1; }

static void *works(void *unused) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!last) {
		reachable++;
		rest(1);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	return unused;
}

int main(void) {
	sem_init(&stopped, 0, 0);
	sem_init(&resumed, 0, 0);
	sigfillset(&suspended);
	sigdelset(&suspended, SIGUSR2);
	struct sigaction a = {.sa_handler = stop}, b = {.sa_handler = resume};
	sigfillset(&a.sa_mask);
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &b, NULL);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_t t = start(works, NULL);
	rest(20);
	pthread_kill(t, SIGUSR1);
	while (sem_wait(&stopped))
		;
	reachable += 1000;
	pthread_kill(t, SIGUSR2);
	while (sem_wait(&resumed))
		;
	pthread_join(t, NULL);
	return reachable <= 1000;
}
