// A thread is left with work to do, and main ends the process by exit in a critical section both use, because the work can no longer be of use.
#include "turns.h"

static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
static long left = 1000000;

static void *works(void *unused) {
	for (int more = 1; more; rest(2)) {
		pthread_mutex_lock(&work);
		more = --left > 0;
		pthread_mutex_unlock(&work);
	}
	return unused;
}

static void ends(void) {
	pthread_mutex_lock(&work);
	if (left > 0)
		exit(0);
	pthread_mutex_unlock(&work);
}

int main(void) {
	pthread_detach(start(works, NULL));
	rest(20);
	ends();
	return 1;
}
