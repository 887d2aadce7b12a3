/*
 * One thread accesses static variables by their names, the other one by library functions to which it passes their
 * addresses, and what orders them in this run is a lock that is held elsewhere. The argument says who comes first,
 * and what they do:
 *
 *	cleared   a store by name, and memset of all of the structure
 *	filled    memcpy into all of the structure, and a load by name of its second member
 *	element   a store into an array by an index, and memcpy out of that element
 *	byte      memcpy into the second byte, and a load of the whole variable by name
 *
 * These are no races:
 *
 *	locked    as cleared, under a lock
 *	joined    as filled, after the first thread has ended
 *	halves    memset of one member, and a load by name of the other one in the same word
 *	bytes     each thread copies into a byte of its own of one variable; main loads it before and behind
 *	alone     one thread alone accesses the variables, in both ways
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct {
	int first, second;
	long third;
} counts;
static int slots[8];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile long seen;
static volatile size_t zero;

static const char *way;
static __attribute__((noipa)) int is(const char *name) { return !strcmp(way, name); }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noipa)) void store(int *to, int n) { *to = n; }
static __attribute__((noipa)) void clear(void *what, size_t n) { memset(what, 0, n); }
static __attribute__((noipa)) void fill(void *to, const void *from, size_t n) { memcpy(to, from, n); }

static void *first(void *arg)
{
	long from[2] = {1, 2};

	if (is("cleared")) {
		counts.second = 1;
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		counts.second = 1;
		pthread_mutex_unlock(&guard);
	} else if (is("filled") || is("joined")) {
		fill(&counts, from, sizeof(from) - zero);
	} else if (is("element")) {
		slots[zero + 3] = 1;
	} else if (is("byte")) {
		fill((char *)&counts.third + 1, from, 1 - zero);
	} else if (is("halves")) {
		clear(&counts.first, sizeof(int) - zero);
	} else if (is("bytes")) {
		fill((char *)&counts.third + 1, from, 1 - zero);
	} else if (is("alone")) {
		counts.second = 1;
		store(&counts.second, 2);
		clear(&counts, sizeof(counts) - zero);
		seen = counts.second;
	}
	pass_lock();
	return arg;
}

static void *second(void *arg)
{
	int copy;

	if (!is("joined"))
		usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("filled") || is("joined") || is("halves")) {
		seen = counts.second;
	} else if (is("cleared")) {
		clear(&counts, sizeof(counts) - zero);
	} else if (is("locked")) {
		pthread_mutex_lock(&guard);
		clear(&counts, sizeof(counts) - zero);
		pthread_mutex_unlock(&guard);
	} else if (is("element")) {
		fill(&copy, slots + 3, sizeof(int) - zero);
	} else if (is("byte")) {
		seen = counts.third;
	} else if (is("bytes")) {
		fill((char *)&counts.third + 5, "b", 1 - zero);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "cleared";
	counts.third = 7;
	pthread_create(&a, 0, first, 0);
	if (is("joined"))
		pthread_join(a, 0);
	pthread_create(&b, 0, second, 0);
	if (!is("joined"))
		pthread_join(a, 0);
	pthread_join(b, 0);
	seen = counts.third;
	return 0;
}
