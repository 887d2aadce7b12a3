// Opposite orders, and the second thread goes on only if the stream stands behind its first byte (ftell): main read that
// byte before both began, so that what the first thread reads changes nothing.
//
// expect: deadlock ink paper
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static pthread_mutex_t ink = PTHREAD_MUTEX_INITIALIZER, paper = PTHREAD_MUTEX_INITIALIZER;
static FILE *stream;

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	nest(&ink, &paper);
	getc(stream);
	return unused;
}

static void *back(void *unused) {
	later(5);
	if (ftell(stream) > 0)
		nest(&paper, &ink);
	return unused;
}

int main(void) {
	pthread_t t, u;
	stream = fopen("/etc/passwd", "r");
	getc(stream);
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	fclose(stream);
	return 0;
}
