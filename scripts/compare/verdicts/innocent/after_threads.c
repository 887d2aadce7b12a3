// main nests two mutexes in the opposite order of its threads and reads their data under no lock, but when it has joined all of them.
// watch: within
#include "turns.h"

static pthread_mutex_t users = PTHREAD_MUTEX_INITIALIZER, groups = PTHREAD_MUTEX_INITIALIZER;
static int within;

static void *worker(void *unused) {
	pthread_mutex_lock(&users);
	pthread_mutex_lock(&groups);
	within++;
	pthread_mutex_unlock(&groups);
	pthread_mutex_unlock(&users);
	return unused;
}

int main(void) {
	both(worker, worker);
	nest(&groups, &users);
	within++;
	return within != 3;
}
