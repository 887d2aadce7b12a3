// Opposite orders, and both threads write to one pipe, which only main reads when both are through:
// what is written to it orders neither after the other.
//
// expect: deadlock boiler heater
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static pthread_mutex_t boiler = PTHREAD_MUTEX_INITIALIZER, heater = PTHREAD_MUTEX_INITIALIZER;
static int log_pipe[2];

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	if (write(log_pipe[1], "x", 1) != 1)
		return;
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	nest(&boiler, &heater);
	return unused;
}

static void *back(void *unused) {
	later(1);
	nest(&heater, &boiler);
	return unused;
}

int main(void) {
	pthread_t t, u;
	char text[2];
	if (pipe(log_pipe))
		return 1;
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return read(log_pipe[0], text, 2) != 2;
}
