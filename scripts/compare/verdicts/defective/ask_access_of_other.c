// Opposite orders, and one thread goes on only if a file is there: it asks of a file that was there before and
// that nobody removes, so that the answer orders nothing.
//
// expect: deadlock desk shelf
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fortune.h"

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER, shelf = PTHREAD_MUTEX_INITIALIZER;
static char made[] = "/tmp/asked-made-XXXXXX", there[] = "/tmp/asked-there-XXXXXX";

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner) {
	pthread_mutex_lock(outer);
	chance();
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *forth(void *unused) {
	nest(&desk, &shelf);
	close(open(made, O_CREAT | O_WRONLY, 0600));
	return unused;
}

static void *back(void *unused) {
	later(5);
	if (!access(there, F_OK))
		nest(&shelf, &desk);
	return unused;
}

int main(void) {
	pthread_t t, u;
	close(mkstemp(there));
	close(mkstemp(made));
	unlink(made);
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	unlink(made);
	unlink(there);
	return 0;
}
