/* Once it may begin, a thread ends, while another one forks. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *ends(void *unused)
{
	usleep(100000);
	return unused;
}

int main(void)
{
	pthread_t thread;
	char begin;
	pid_t child;

	if (read(0, &begin, 1) != 1)
		return 1;
	pthread_create(&thread, 0, ends, 0);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, 0, 0);
	return pthread_join(thread, 0);
}
