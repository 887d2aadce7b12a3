// main leaves by pthread_exit while others work, without joining them, but they are detached, and the last one ends the process.
// watch: rounds
#include "turns.h"
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds;
static atomic_int left = 2;

static void *works(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		rounds++;
		pthread_mutex_unlock(&lock);
		rest(3);
	}
	if (atomic_fetch_sub(&left, 1) == 1)
		exit(rounds != 6);
	return unused;
}

int main(void) {
	pthread_detach(start(works, NULL));
	pthread_detach(start(works, NULL));
	pthread_exit(NULL);
}
