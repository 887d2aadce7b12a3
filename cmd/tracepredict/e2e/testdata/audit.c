// An audit of two accounts while money is moved: between the halves of a transfer (split), under the lock of both (whole), or
// once it was told that the transfer is done (told).
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static long left = 100, right = 100;
static int whole, told, done;

__attribute__((noipa)) void transfer(long n)
{
	pthread_mutex_lock(&first);
	left -= n;
	if (!whole)
		pthread_mutex_unlock(&first);
	pthread_mutex_lock(&second);
	right += n;
	done = 1;
	pthread_mutex_unlock(&second);
	if (whole)
		pthread_mutex_unlock(&first);
}

__attribute__((noipa)) long sum(void)
{
	long s;

	pthread_mutex_lock(&first);
	s = left;
	if (!whole)
		pthread_mutex_unlock(&first);
	pthread_mutex_lock(&second);
	s += right;
	pthread_mutex_unlock(&second);
	if (whole)
		pthread_mutex_unlock(&first);
	return s;
}

static void *mover(void *arg)
{
	transfer(5);
	return arg;
}

static void *auditor(void *arg)
{
	int is;

	usleep(100000);
	if (told) {
		pthread_mutex_lock(&second);
		is = done;
		pthread_mutex_unlock(&second);
		if (!is)
			return arg;
	}
	if (sum() > 1000)
		puts("too much");
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	whole = argc > 1 && !strcmp(argv[1], "whole");
	told = argc > 1 && !strcmp(argv[1], "told");
	pthread_create(&a, NULL, mover, NULL);
	pthread_create(&b, NULL, auditor, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
