// Opposite orders: the second thread asks for the flags of a pipe (fcntl F_GETFL), of which the first one changes one,
// but looks only whether the pipe can be read, and that never changes.
//
// expect: deadlock intake outlet
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static pthread_mutex_t intake = PTHREAD_MUTEX_INITIALIZER, outlet = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void *forth(void *unused) {
	pthread_mutex_lock(&intake);
	chance();
	pthread_mutex_lock(&outlet);
	pthread_mutex_unlock(&outlet);
	pthread_mutex_unlock(&intake);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return unused;
}

static void *back(void *unused) {
	later(5);
	if ((fcntl(ends[0], F_GETFL) & O_ACCMODE) != O_RDONLY)
		return unused;
	pthread_mutex_lock(&outlet);
	chance();
	pthread_mutex_lock(&intake);
	pthread_mutex_unlock(&intake);
	pthread_mutex_unlock(&outlet);
	return unused;
}

int main(void) {
	pthread_t t, u;
	if (pipe(ends))
		return 1;
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
