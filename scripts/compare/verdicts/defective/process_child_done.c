// A child process is waited for between two accesses of two threads, but it was forked before the
// first of them, and tells the second nothing about it.
//
// expect: race state
// watch: state
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

static int state;
static pid_t child;

static void *write_state(void *unused) {
	chance();
	state = 1;
	return unused;
}

static void *after_child(void *unused) {
	waitpid(child, 0, 0);
	later(1);
	state += 2;
	return unused;
}

int main(void) {
	pthread_t t, u;
	child = fork();
	if (!child)
		_exit(0);
	pthread_create(&t, 0, write_state, 0);
	pthread_create(&u, 0, after_child, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return state != 3;
}
