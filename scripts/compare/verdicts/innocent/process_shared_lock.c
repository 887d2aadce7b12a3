// Each process shows half of the accesses to shared memory, and of the locking, but the mutexes are shared between processes and always nested in one order.
// args: --follow
#include "turns.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct page {
	pthread_mutex_t outer, inner;
	long count;
};

static void *counts(void *p) {
	struct page *page = p;
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&page->outer);
		pthread_mutex_lock(&page->inner);
		page->count++;
		pthread_mutex_unlock(&page->inner);
		pthread_mutex_unlock(&page->outer);
		rest(3);
	}
	return NULL;
}

int main(void) {
	struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t shared;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&page->outer, &shared);
	pthread_mutex_init(&page->inner, &shared);
	pid_t child = fork();
	pthread_join(start(counts, page), NULL);
	if (!child)
		_exit(0);
	int status;
	waitpid(child, &status, 0);
	return status != 0 || page->count != 8;
}
