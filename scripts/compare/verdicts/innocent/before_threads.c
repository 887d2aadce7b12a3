// main nests two mutexes in the opposite order of its threads and writes under no lock what they read, but before it starts the first of them.
// watch: limit
#include "turns.h"

static pthread_mutex_t users = PTHREAD_MUTEX_INITIALIZER, groups = PTHREAD_MUTEX_INITIALIZER;
static int limit, within;

static void *worker(void *unused) {
	pthread_mutex_lock(&users);
	pthread_mutex_lock(&groups);
	within += limit;
	pthread_mutex_unlock(&groups);
	pthread_mutex_unlock(&users);
	return unused;
}

int main(void) {
	nest(&groups, &users);
	limit = 3;
	rest(10);
	both(worker, worker);
	return within != 6;
}
