// A log is closed after its last line only because the thread that closes it is slow; nothing makes
// it wait for the writer. property_close.tps says that no line is written to a closed log.
//
// expect: property
// args: --spec scripts/compare/verdicts/defective/property_close.tps --causality exclusion
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

int lines, closed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *write_line(void *unused) {
	chance();
	pthread_mutex_lock(&lock);
	lines++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *close_log(void *unused) {
	later(1);
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, write_line, 0);
	pthread_create(&u, 0, close_log, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	printf("%d %d\n", lines, closed);
	return 0;
}
