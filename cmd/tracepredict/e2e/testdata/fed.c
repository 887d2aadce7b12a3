/* Two threads lock two locks in opposite orders, one long after the other, if standard input says so. An argument is a file that the
 * program makes, and that must not be there before. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t fork_left = PTHREAD_MUTEX_INITIALIZER, fork_right = PTHREAD_MUTEX_INITIALIZER;

static void *left(void *unused)
{
	pthread_mutex_lock(&fork_left);
	pthread_mutex_lock(&fork_right);
	pthread_mutex_unlock(&fork_right);
	pthread_mutex_unlock(&fork_left);
	return unused;
}

static void *right(void *unused)
{
	usleep(200000);
	pthread_mutex_lock(&fork_right);
	pthread_mutex_lock(&fork_left);
	pthread_mutex_unlock(&fork_left);
	pthread_mutex_unlock(&fork_right);
	return unused;
}

int main(int argc, char **argv)
{
	char line[16] = "";
	pthread_t a, b;

	if (argc > 1 && open(argv[1], O_CREAT | O_EXCL | O_WRONLY, 0600) < 0)
		return 3;
	if (!fgets(line, sizeof line, stdin) || strcmp(line, "eat\n"))
		return 0;
	pthread_create(&a, NULL, left, NULL);
	pthread_create(&b, NULL, right, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
