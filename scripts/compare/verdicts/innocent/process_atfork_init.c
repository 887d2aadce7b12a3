// A mutex is initialised while it is held, but in the child of a fork, whose only thread so makes its own copy usable (SQLite and others do it).
// args: --follow
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;

static void child_begins(void) { pthread_mutex_init(&cache, NULL); }

static void *holds(void *unused) {
	pthread_mutex_lock(&cache);
	rest(60);
	pthread_mutex_unlock(&cache);
	return unused;
}

int main(void) {
	pthread_atfork(NULL, NULL, child_begins);
	pthread_t t = start(holds, NULL);
	rest(20);
	pid_t child = fork();
	if (!child) {
		pthread_mutex_lock(&cache);
		pthread_mutex_unlock(&cache);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	pthread_join(t, NULL);
	return status != 0;
}
