// A detached thread signals by a condition that it has finished, and its result is read then.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int result, done;

static void *work(void *unused) {
	later(1);
	result = 42;
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t worker;
	if (pthread_create(&worker, NULL, work, NULL) || pthread_detach(worker))
		return 1;
	pthread_mutex_lock(&lock);
	while (!done)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	printf("%d\n", result);
	return result != 42;
}
