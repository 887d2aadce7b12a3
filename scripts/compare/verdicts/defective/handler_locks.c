// A signal handler locks the mutex that the thread which it interrupts may hold: the thread would wait for itself.
//
// expect: deadlock
#include <pthread.h>
#include <signal.h>

#include "fortune.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int entries;
static volatile sig_atomic_t handled;

static void on_usr1(int s) {
	(void)s;
	pthread_mutex_lock(&table);
	entries = 0;
	pthread_mutex_unlock(&table);
	handled = 1;
}

static void *worker(void *unused) {
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&table);
		entries++;
		pthread_mutex_unlock(&table);
	}
	later(2);
	return unused;
}

int main(void) {
	pthread_t t;
	struct sigaction a = {.sa_handler = on_usr1};
	sigaction(SIGUSR1, &a, 0);
	pthread_create(&t, 0, worker, 0);
	later(1);
	pthread_kill(t, SIGUSR1);
	pthread_join(t, 0);
	return !handled;
}
