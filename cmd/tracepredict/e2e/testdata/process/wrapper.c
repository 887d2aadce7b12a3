// Two threads of a wrapper synchronise by an atomic variable on the heap; then the wrapper runs a
// program, as a build tool or a test runner does.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *count(void *shared)
{
	for (int i = 0; i < 100; i++)
		atomic_fetch_add((atomic_int *)shared, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	atomic_int *shared = calloc(1, sizeof *shared);
	pthread_t t;
	int status = 0;

	if (argc < 2 || pthread_create(&t, NULL, count, shared))
		return 1;
	count(shared);
	pthread_join(t, NULL);
	if (fork() == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
