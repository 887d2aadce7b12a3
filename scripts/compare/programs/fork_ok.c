// The process forks while another thread may hold a lock; handlers of pthread_atfork take it before and give it back in both.
//
// expect: nothing
// run: --follow
#include "threads.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void take(void) {
	pthread_mutex_lock(&lock);
}

static void give(void) {
	pthread_mutex_unlock(&lock);
}

static void count(void) {
	take();
	counter++;
	give();
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
	if (pthread_atfork(take, give, give))
		return 1;
	RUN(work, spawn);
	return counter != 1;
}
