// Two processes lock two mutexes in memory that they share, in opposite orders: the mutexes are
// made for it, and each process can hold its first one.
//
// expect: deadlock
// args: --follow
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

struct page {
	pthread_mutex_t in, out;
	int letters;
};

static void move(struct page *page, pthread_mutex_t *first, pthread_mutex_t *second) {
	pthread_mutex_lock(first);
	chance();
	pthread_mutex_lock(second);
	page->letters++;
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
}

int main(void) {
	struct page *page = mmap(0, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t shared;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&page->in, &shared);
	pthread_mutex_init(&page->out, &shared);
	pid_t child = fork();
	if (!child) {
		move(page, &page->in, &page->out);
		_exit(0);
	}
	later(5);
	move(page, &page->out, &page->in);
	waitpid(child, 0, 0);
	return page->letters != 2;
}
