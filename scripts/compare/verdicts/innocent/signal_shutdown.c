// A handler stops a worker whose work main then changes under no lock, but the handler only sets a lock-free atomic flag and main joins the worker first.
// watch: work
#include "turns.h"
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int stopping;
static long work;

static void on_term(int s) {
	(void)s;
	atomic_store(&stopping, 1);
}

static void *worker(void *unused) {
	while (!atomic_load(&stopping)) {
		work++;
		usleep(500);
	}
	return unused;
}

static void *killer(void *unused) {
	rest(20);
	kill(getpid(), SIGTERM);
	return unused;
}

int main(void) {
	struct sigaction a = {.sa_handler = on_term};
	sigaction(SIGTERM, &a, NULL);
	pthread_t w = start(worker, NULL), k = start(killer, NULL);
	pthread_join(w, NULL);
	work = -work;
	pthread_join(k, NULL);
	return work > 0;
}
