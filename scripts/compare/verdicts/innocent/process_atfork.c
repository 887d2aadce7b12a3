// The child unlocks mutexes that its parent locked, but by handlers of pthread_atfork, in the copy of the very thread that locked them.
// args: --follow
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;

static void before(void) {
	pthread_mutex_lock(&heap);
	pthread_mutex_lock(&log_lock);
}

static void after(void) {
	pthread_mutex_unlock(&log_lock);
	pthread_mutex_unlock(&heap);
}

static void *works(void *unused) {
	for (int i = 0; i < 5; i++) {
		nest(&heap, &log_lock);
		rest(4);
	}
	return unused;
}

int main(void) {
	pthread_atfork(before, after, after);
	pthread_t t = start(works, NULL);
	rest(8);
	pid_t child = fork();
	if (!child) {
		nest(&heap, &log_lock);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	pthread_join(t, NULL);
	return status != 0;
}
