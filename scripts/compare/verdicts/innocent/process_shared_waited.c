// A parent and its child nest two mutexes of their shared memory in opposite orders, but the parent first waits until the child has ended.
// args: --follow
#include "turns.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct page {
	pthread_mutex_t in, out;
};

int main(void) {
	struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t shared;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&page->in, &shared);
	pthread_mutex_init(&page->out, &shared);
	pid_t child = fork();
	if (!child) {
		nest(&page->in, &page->out);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	nest(&page->out, &page->in);
	return status != 0;
}
