// The child of a fork returns from main while it holds its copy of a mutex that its parent's threads use, but the copy is the child's own, and it has one thread.
// args: --follow
#include "turns.h"
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *adds(void *unused) {
	pthread_mutex_lock(&lock);
	total++;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	both(adds, adds);
	pthread_mutex_lock(&lock);
	pid_t child = fork();
	if (!child)
		return 0;
	pthread_mutex_unlock(&lock);
	int status;
	waitpid(child, &status, 0);
	return status != 0;
}
