// A child begins with a mutex locked by a thread that it does not have, and never unlocks it, but it never needs it either: it executes another program.
// args: --follow
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t files = PTHREAD_MUTEX_INITIALIZER;

static void *holds(void *unused) {
	pthread_mutex_lock(&files);
	rest(60);
	pthread_mutex_unlock(&files);
	return unused;
}

int main(void) {
	pthread_t t = start(holds, NULL);
	rest(20);
	pid_t child = fork();
	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	int status;
	waitpid(child, &status, 0);
	pthread_join(t, NULL);
	return status != 0;
}
