// Parent and child nest the same two mutexes in opposite orders, but after fork each has copies of its own, which the other cannot hold.
// args: --follow
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
	nest(&left, &right);
	return unused;
}

int main(void) {
	pid_t child = fork();
	need(child >= 0, "fork");
	if (!child) {
		rest(20);
		nest(&right, &left);
		_exit(0);
	}
	both(worker, worker);
	int status;
	waitpid(child, &status, 0);
	return status != 0;
}
