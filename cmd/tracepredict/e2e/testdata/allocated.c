/*
 * Two threads access a block of the heap, the second one later; only the first one's access is ordered with main's.
 * The first argument says where the block was allocated:
 *
 *	made      in make_queue
 *	reused    likewise, after another function had allocated the same memory and freed it
 *	elsewhere by the C library, after make_queue had allocated the same memory and freed it
 *	grown     by realloc, which has moved what make_queue had allocated
 *	kept      likewise, in the same place
 *	wrapped   by a function that allocates for others
 *	zeroed    by calloc, as the third of four queues
 *	large     in a block of a megabyte
 *	freed     in make_queue; the second thread frees it
 *
 * With a second argument, both threads hold a lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct queue {
	char name[16];
	long head;
	long jobs[5];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static int locked;
static int is(const char *name) { return !strcmp(way, name); }

__attribute__((noinline)) static struct queue *make_queue(void)
{
	struct queue *q = malloc(sizeof *q);

	if (!q)
		abort();
	q->head = 0;
	return q;
}

__attribute__((noinline)) static void *make_other(void)
{
	void *other = malloc(sizeof(struct queue));

	if (!other)
		abort();
	memset(other, 0, sizeof(struct queue));
	return other;
}

__attribute__((noinline)) static void *allocate(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		abort();
	return p;
}

__attribute__((noinline)) static struct queue *grow(struct queue *q, size_t bytes)
{
	q = realloc(q, bytes);
	if (!q)
		abort();
	return q;
}

/* What another block had before must be the memory of the next one, or the test would not show anything. */
static struct queue *same(struct queue *q, unsigned long before)
{
	if ((unsigned long)q != before)
		puts("elsewhere");
	return q;
}

static struct queue *get(void)
{
	struct queue *q;
	unsigned long before;

	if (is("wrapped"))
		return allocate(sizeof *q);
	if (is("zeroed")) {
		q = calloc(4, sizeof *q);
		return q ? q + 2 : 0;
	}
	if (is("large")) {
		q = malloc(1 << 20);
		return q ? q + 1000 : 0;
	}
	if (is("reused")) {
		q = make_other();
		before = (unsigned long)q;
		free(q);
		return same(make_queue(), before);
	}
	q = make_queue();
	before = (unsigned long)q;
	if (is("grown"))
		return grow(q, 200008);
	if (is("kept"))
		return grow(q, sizeof *q - 8);
	if (is("elsewhere")) {
		free(q);
		if (chdir("/"))
			abort();
		return same((struct queue *)getcwd(NULL, sizeof *q), before);
	}
	return q;
}

static void *first(void *arg)
{
	struct queue *q = arg;

	if (locked)
		pthread_mutex_lock(&lock);
	q->head++;
	if (locked)
		pthread_mutex_unlock(&lock);
	return 0;
}

static void *second(void *arg)
{
	struct queue *q = arg;

	usleep(50000); /* the first thread comes first */
	if (locked)
		pthread_mutex_lock(&lock);
	if (is("freed") && !locked)
		free(q);
	else
		q->head++;
	if (locked)
		pthread_mutex_unlock(&lock);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	struct queue *q;

	way = argv[1];
	locked = argc > 2;
	q = get();
	pthread_create(&a, 0, first, q);
	pthread_create(&b, 0, second, q);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
