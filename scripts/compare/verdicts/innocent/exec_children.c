// Two threads start programs by fork and exec and nest their locks in opposite orders, but the second does so only after it has joined the first.
// watch: started
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, terminal = PTHREAD_MUTEX_INITIALIZER;
static int started;
static pthread_t before;

static void run(void) {
	pid_t p = fork();
	if (!p) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	int status;
	waitpid(p, &status, 0);
	need(!status, "child");
	started++;
}

static void *builds(void *unused) {
	pthread_mutex_lock(&table);
	pthread_mutex_lock(&terminal);
	run();
	pthread_mutex_unlock(&terminal);
	pthread_mutex_unlock(&table);
	return unused;
}

static void *tests(void *unused) {
	pthread_join(before, NULL);
	pthread_mutex_lock(&terminal);
	pthread_mutex_lock(&table);
	run();
	pthread_mutex_unlock(&table);
	pthread_mutex_unlock(&terminal);
	return unused;
}

int main(void) {
	before = start(builds, NULL);
	pthread_t t = start(tests, NULL);
	pthread_join(t, NULL);
	return started != 2;
}
