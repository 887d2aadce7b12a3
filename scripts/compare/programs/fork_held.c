// The process forks while another thread may hold a lock, and the child acquires that lock: if it was held, it is so for ever
// in the child. In this run nobody held it.
//
// expect: deadlock
// expect: misuse
// expect: hang
// run: --follow
#include "threads.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void count(void) {
	pthread_mutex_lock(&lock);
	counter++;
	pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
	count();
	return unused;
}

static void *spawn(void *unused) {
	later(1);
	pid_t child = fork();
	if (!child) {
		count();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return unused;
}

int main(void) {
	RUN(work, spawn);
	return counter != 1;
}
