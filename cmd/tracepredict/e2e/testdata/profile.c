/* The caller has the desk and works on until the clerk has asked for it, and for some time more, which is printed in ns. With
 * the argument apart the clerk asks for another desk, and need not wait. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER, other_desk = PTHREAD_MUTEX_INITIALIZER;
static int asks;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *clerk(void *wanted)
{
	__atomic_store_n(&asks, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(wanted);
	pthread_mutex_unlock(wanted);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec more = {0, 5000000};
	pthread_t t;
	long long from, until;

	(void)argv;
	pthread_mutex_lock(&desk);
	pthread_create(&t, NULL, clerk, argc > 1 ? &other_desk : &desk);
	while (!__atomic_load_n(&asks, __ATOMIC_ACQUIRE))
		sched_yield();
	from = now();
	nanosleep(&more, NULL);
	until = now();
	pthread_mutex_unlock(&desk);
	pthread_join(t, NULL);
	printf("%lld\n", until - from);
	return 0;
}
