// A handler run at exit destroys the lock of the log, which a detached thread may still use.
//
// expect: misuse
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static pthread_mutex_t log_lock;
static long lines;

static void close_log(void) {
	pthread_mutex_destroy(&log_lock);
}

static void *logs(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&log_lock);
		lines++;
		pthread_mutex_unlock(&log_lock);
		chance();
	}
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_mutex_init(&log_lock, 0);
	atexit(close_log);
	pthread_create(&t, 0, logs, 0);
	pthread_detach(t);
	later(1);
	return 0;
}
