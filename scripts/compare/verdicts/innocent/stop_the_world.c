// A collector reads and changes the mutators' plain counters under no lock, but each of them is stopped in a signal handler, has posted there, and goes on only when an atomic number says so.
// watch: shared
#include "turns.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

static sem_t stopped;
static atomic_int world, ending;
static long allocated[2];

static void on_stop(int s) {
	(void)s;
	int saved = errno, now = atomic_load(&world);
	sigset_t all_but;
	sigfillset(&all_but);
	sigdelset(&all_but, SIGUSR2);
	sem_post(&stopped);
	while (atomic_load(&world) == now)
		sigsuspend(&all_but);
	errno = saved;
}

static void on_go(int s) { (void)s; }

static void *mutator(void *p) {
	while (!atomic_load(&ending)) {
		sigset_t s, old;
		sigemptyset(&s);
		sigaddset(&s, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &s, &old);
		allocated[(long)p]++;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		rest(1);
	}
	return NULL;
}

int main(void) {
	struct sigaction a = {.sa_handler = on_stop}, b = {.sa_handler = on_go};
	sigaddset(&a.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &b, NULL);
	sem_init(&stopped, 0, 0);
	pthread_t t[2];
	long total = 0;
	for (long i = 0; i < 2; i++)
		t[i] = start(mutator, (void *)i);
	for (int round = 0; round < 3; round++) {
		rest(5);
		for (int i = 0; i < 2; i++)
			pthread_kill(t[i], SIGUSR1);
		for (int i = 0; i < 2; i++)
			while (sem_wait(&stopped))
				;
		for (int i = 0; i < 2; i++) {
			total += allocated[i];
			allocated[i] = 0;
		}
		atomic_fetch_add(&world, 1);
		for (int i = 0; i < 2; i++)
			pthread_kill(t[i], SIGUSR2);
	}
	atomic_store(&ending, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return total == 0;
}
