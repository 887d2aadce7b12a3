// Two mutexes in opposite orders, deep below the C library's callbacks, without
// frame pointers.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory") // no tail calls

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static FRAME void nest(pthread_mutex_t *x, pthread_mutex_t *y)
{
	pthread_mutex_lock(x);
	pthread_mutex_lock(y);
	pthread_mutex_unlock(y);
	pthread_mutex_unlock(x);
	KEEP;
}

static int compared;

static FRAME int compare(const void *p, const void *q)
{
	if (!compared++)
		nest(&a, &b);
	KEEP;
	return *(const int *)p - *(const int *)q;
}

static FRAME int deep(int n)
{
	int numbers[4] = {4, 3, 2, 1}, r;

	if (n == 0)
		qsort(numbers, 4, sizeof(*numbers), compare);
	r = n ? deep(n - 1) : numbers[0];
	KEEP;
	return r + 1;
}

static FRAME void first(void)
{
	nest(&b, &a);
	KEEP;
}

static void *run(void *p)
{
	pthread_once(&once, first);
	KEEP;
	return p;
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void handler(int signal)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	KEEP;
}

static FRAME void interrupted(void)
{
	raise(SIGUSR1);
	KEEP;
}

// Frames of which most do not fit in what is copied of the stack.
static FRAME int bottomless(int n)
{
	volatile char room[1000];

	memset((void *)room, n, sizeof(room));
	if (n)
		n = bottomless(n - 1);
	else
		handler(0);
	KEEP;
	return n + room[0];
}

int main(void)
{
	pthread_t t;
	int n;

	n = deep(10); // before the thread, lest they block each other
	pthread_create(&t, 0, run, 0);
	pthread_join(t, 0);
	signal(SIGUSR1, handler);
	interrupted();
	n += bottomless(200);
	printf("%d\n", n);
	return 0;
}
