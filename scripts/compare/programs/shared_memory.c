// Two processes increment a counter in memory that they share, without the mutex that lies beside it.
//
// expect: race
// run: --follow
#include "threads.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct page {
	pthread_mutex_t lock;
	int counter;
};

int main(void) {
	struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t shared;
	if (page == MAP_FAILED || pthread_mutexattr_init(&shared) || pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) || pthread_mutex_init(&page->lock, &shared))
		return 1;
	pid_t child = fork();
	if (child)
		later(1);
	page->counter++;
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	printf("%d\n", page->counter);
	return page->counter != 2;
}
