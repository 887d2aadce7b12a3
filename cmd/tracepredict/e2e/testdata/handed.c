/*
 * Two threads and a box for one pointer, of a library (the first argument) that has no debug information, and whose
 * functions are called through pointers. After its half, the first thread puts something into the box, for which the
 * second one waits; with "apart", they do not use it.
 *
 * letter  each half accesses a letter on the heap
 * locks   each half locks two mutexes, in opposite orders
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct letter { int number, answer; };

static int (*put)(void *box, void *p);
static void *(*take)(void *box);
static void *box;
static struct letter *letter;
static int locks, apart;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void half(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	if (!locks) {
		letter->answer = ++letter->number;
		return;
	}
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *first(void *unused)
{
	half(&left, &right);
	if (!apart)
		put(box, letter);
	return unused;
}

static void *second(void *unused)
{
	if (apart)
		usleep(50000);
	else
		while (!take(box))
			usleep(1000);
	half(&right, &left);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : 0;

	if (!library)
		return 1;
	locks = !strcmp(argv[2], "locks");
	apart = argc > 3;
	put = (int (*)(void *, void *))dlsym(library, "box_put");
	take = (void *(*)(void *))dlsym(library, "box_take");
	box = calloc(1, 64);
	letter = calloc(1, sizeof *letter);
	pthread_create(&a, 0, first, 0);
	pthread_create(&b, 0, second, 0);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
