// A thread ends while it holds a robust mutex. The next owner unlocks it without making it
// consistent, after which no thread can lock it.
//
// expect: misuse
#include "threads.h"
#include <errno.h>

static pthread_mutex_t till;
static int got;

static void *die(void *unused) {
	pthread_mutex_lock(&till);
	return unused;
}

static void *inherit(void *unused) {
	later(1);
	got = pthread_mutex_lock(&till);
	pthread_mutex_unlock(&till);
	return unused;
}

int main(void) {
	pthread_mutexattr_t robust;
	if (pthread_mutexattr_init(&robust) || pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST) || pthread_mutex_init(&till, &robust))
		return 1;
	RUN(die, inherit);
	return got != EOWNERDEAD;
}
