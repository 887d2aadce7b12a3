// One thread locks a mutex while it holds the lock of a stream, another prints to the stream while it holds the mutex, but both do so within a third mutex.
#include "turns.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, lines = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;

static void *flushes(void *unused) {
	pthread_mutex_lock(&gate);
	flockfile(out);
	pthread_mutex_lock(&lines);
	pthread_mutex_unlock(&lines);
	funlockfile(out);
	pthread_mutex_unlock(&gate);
	return unused;
}

static void *prints(void *unused) {
	rest(200);
	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&lines);
	fputs("line\n", out);
	pthread_mutex_unlock(&lines);
	pthread_mutex_unlock(&gate);
	return unused;
}

int main(void) {
	out = fopen("/dev/null", "w");
	both(flushes, prints);
	fclose(out);
	return 0;
}
