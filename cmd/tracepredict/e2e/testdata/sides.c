/* A thread locks left before right in a run that does not find the file that the first argument names, and makes it. In
 * later runs another thread locks right before left; with a second argument, the same thread does what it did. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void *front(void *unused)
{
	pthread_mutex_lock(&left);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	return unused;
}

static void *back(void *unused)
{
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return unused;
}

int main(int argc, char **argv)
{
	int later = argc > 1 && access(argv[1], F_OK) == 0;
	FILE *made = NULL;
	pthread_t t;

	if (argc > 1 && !later && (made = fopen(argv[1], "w")))
		fclose(made);
	pthread_create(&t, NULL, later && argc < 3 ? back : front, NULL);
	pthread_join(t, NULL);
	puts(later ? "later" : "first");
	return later ? 5 : 3;
}
