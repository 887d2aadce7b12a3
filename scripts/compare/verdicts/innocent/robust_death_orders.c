// The heir changes what the dead thread wrote, and no unlock lies between, but the dead one held the robust mutex, and EOWNERDEAD comes after its death.
// watch: note
#include "turns.h"
#include <errno.h>

static pthread_mutex_t robust;
static int note;

static void *dies(void *unused) {
	pthread_mutex_lock(&robust);
	note = 1;
	return unused;
}

static void *heir(void *unused) {
	int r;
	while ((r = pthread_mutex_trylock(&robust)) != EOWNERDEAD) {
		if (!r)
			pthread_mutex_unlock(&robust);
		rest(2);
	}
	note++;
	pthread_mutex_consistent(&robust);
	pthread_mutex_unlock(&robust);
	return unused;
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	both(dies, heir);
	pthread_mutex_destroy(&robust);
	return note != 2;
}
