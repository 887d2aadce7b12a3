// A handler run at exit destroys the lock of the log, which a detached thread uses, but main returns only after that thread has posted that it is done with it.
#include <semaphore.h>
#include "turns.h"

static pthread_mutex_t log_lock;
static sem_t done;
static long lines;

static void close_log(void) {
	pthread_mutex_destroy(&log_lock);
}

static void *logs(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&log_lock);
		lines++;
		pthread_mutex_unlock(&log_lock);
	}
	sem_post(&done);
	return unused;
}

int main(void) {
	pthread_mutex_init(&log_lock, NULL);
	sem_init(&done, 0, 0);
	atexit(close_log);
	pthread_t t = start(logs, NULL);
	pthread_detach(t);
	while (sem_wait(&done))
		;
	need(lines == 3, "lines");
	return 0;
}
