// A thread is cancelled in its wait on a condition, has acquired the mutex again, and a
// cleanup handler releases it.
//
// expect: nothing
#include "threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stop, ended;

static void give_up(void *unused) {
	(void)unused;
	ended = 1;
	pthread_mutex_unlock(&lock);
}

static void *serve(void *unused) {
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(give_up, NULL);
	while (!stop)
		pthread_cond_wait(&changed, &lock);
	pthread_cleanup_pop(1);
	return unused;
}

int main(void) {
	pthread_t server;
	if (pthread_create(&server, NULL, serve, NULL))
		return 1;
	later(1);
	pthread_cancel(server);
	pthread_join(server, NULL);
	puts("done");
	return !ended;
}
