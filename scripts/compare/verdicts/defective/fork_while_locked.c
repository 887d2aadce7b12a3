// A thread forks while another one may hold the lock of the log, and the child locks it: there is nobody in the child to unlock it.
//
// expect: deadlock
// args: --follow
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static long lines;

static void say(void) {
	pthread_mutex_lock(&log_lock);
	chance();
	lines++;
	pthread_mutex_unlock(&log_lock);
}

static void *logs(void *unused) {
	for (int i = 0; i < 3; i++)
		say();
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, logs, 0);
	later(1);
	pid_t p = fork();
	if (!p) {
		say();
		_exit(0);
	}
	int status;
	waitpid(p, &status, 0);
	pthread_join(t, 0);
	return status;
}
