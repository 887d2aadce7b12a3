/*
 * shared: a parent and its child nest two mutexes in opposite orders, which a pause keeps apart. The
 * mutexes are in memory that the two share. shared private: they are in memory of which the child has a
 * copy. shared waited: the parent waits for the end of the child before it nests them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct page {
	pthread_mutex_t in, out;
};

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int how = strcmp(mode, "private") ? MAP_SHARED : MAP_PRIVATE, status;
	struct page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t shared;
	pid_t child;

	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&page->in, &shared);
	pthread_mutex_init(&page->out, &shared);
	child = fork();
	if (!child) {
		nest(&page->in, &page->out);
		_exit(0);
	}
	if (strcmp(mode, "waited")) {
		usleep(100000);
		nest(&page->out, &page->in);
	}
	waitpid(child, &status, 0);
	if (!strcmp(mode, "waited"))
		nest(&page->out, &page->in);
	return status;
}
