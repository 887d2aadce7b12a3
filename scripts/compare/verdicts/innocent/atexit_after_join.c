// A handler run at exit reads and frees under no lock what threads wrote, and nests locks the other way round, but main joins the threads before it returns.
// watch: lines
#include "turns.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER, file_lock = PTHREAD_MUTEX_INITIALIZER;
static long lines;
static long *buffer;

static void at_exit(void) {
	nest(&file_lock, &log_lock);
	if (lines != 6 || buffer[0] != 6)
		_Exit(1);
	lines = 0;
	free(buffer);
}

static void *logs(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&log_lock);
		pthread_mutex_lock(&file_lock);
		lines++;
		buffer[0]++;
		pthread_mutex_unlock(&file_lock);
		pthread_mutex_unlock(&log_lock);
	}
	return unused;
}

int main(void) {
	buffer = calloc(1, sizeof *buffer);
	atexit(at_exit);
	both(logs, logs);
	return 0;
}
