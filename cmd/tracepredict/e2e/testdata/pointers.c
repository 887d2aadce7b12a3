/*
 * Two threads access the same memory through pointers, the second one later. The argument says what
 * memory, and how:
 *
 *	queue     of the heap; both hold the lock elsewhere, so that happens-before orders them in this run
 *	locked    as queue, and both hold the lock for the access, too
 *	stack     of the stack of main
 *	mapping   of a mapping
 *	halves    neighbouring halves of one word of the heap: no race
 *	reused    each has a block of its own, the second one the block that the first one freed: no race
 *	resized   as reused; the first one's block ended in realloc
 *	unmapped  as reused, with mappings
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct queue {
	int head, tail;
	long jobs[4];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;
static int is(const char *name) { return !strcmp(way, name); }

static inline __attribute__((always_inline)) void add(int *to, int n) { *to += n; }

static void pass_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *first(void *arg)
{
	struct queue *q = arg;

	if (is("locked"))
		pthread_mutex_lock(&lock);
	add(&q->head, 1);
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	pass_lock();
	return 0;
}

static void *second(void *arg)
{
	struct queue *q = arg;

	usleep(50000); /* the first thread comes first */
	pass_lock();
	if (is("locked"))
		pthread_mutex_lock(&lock);
	add(is("halves") ? &q->tail : &q->head, 2);
	if (is("locked"))
		pthread_mutex_unlock(&lock);
	return 0;
}

#define BYTES (64 * sizeof(long))

static __attribute__((noinline)) void use(long *block)
{
	for (unsigned i = 0; i < BYTES / sizeof(long); i++)
		block[i] = i;
}

static void *alone(void *late)
{
	static void *before; /* compared under the lock */
	long *block;

	usleep(late ? 60000 : 10000); /* creating a thread takes free memory, too */
	block = is("unmapped") ? mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
				 malloc(BYTES);
	if (!late)
		malloc(64); /* so that the block neither grows in place nor joins the free memory behind */
	use(block);
	pthread_mutex_lock(&lock);
	if (late)
		printf("%s\n", block == before ? "same block" : "another block");
	else
		before = block;
	pthread_mutex_unlock(&lock);
	if (is("unmapped"))
		munmap(block, BYTES);
	else if (is("resized"))
		free(realloc(block, 1 << 20));
	else
		free(block);
	return 0;
}

int main(int argc, char **argv)
{
	struct queue on_stack = {0}, *q = &on_stack;
	pthread_t a, b;
	int own;

	way = argc > 1 ? argv[1] : "queue";
	own = is("reused") || is("resized") || is("unmapped");
	if (is("mapping"))
		q = mmap(0, sizeof(*q), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (!is("stack"))
		q = calloc(1, sizeof(*q));
	pthread_create(&a, 0, own ? alone : first, own ? 0 : q);
	pthread_create(&b, 0, own ? alone : second, q);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return q->head == 0 && !own;
}
