/*
 * Main frees or moves a job that a worker has used. The argument says how: "late" frees it without waiting for
 * the worker, "grown" moves it so, "joined" waits, "counted" frees it as the last of two owners, "shared" is late
 * although both threads use the job under a lock, "untouched" frees late what the worker has not used, "unmapped"
 * unmaps it late, and "waited" unmaps it after the worker's end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct job {
	long parts;
	atomic_int owners;
	char text[200];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *way;

static int is(const char *other) { return strcmp(way, other) == 0; }

static int ends_first(void) { return is("joined") || is("waited"); }
static int mapped(void) { return is("unmapped") || is("waited"); }

__attribute__((noinline)) static void drop(struct job *j)
{
	if (mapped())
		munmap(j, sizeof *j);
	else if (!is("counted") || atomic_fetch_sub(&j->owners, 1) == 1)
		free(j);
}

__attribute__((noinline)) static void work(struct job *j)
{
	if (is("shared"))
		pthread_mutex_lock(&lock);
	if (!is("untouched"))
		j->parts = 7;
	if (is("shared"))
		pthread_mutex_unlock(&lock);
	if (is("counted"))
		drop(j);
}

static void *worker(void *j)
{
	work(j);
	return 0;
}

int main(int argc, char **argv)
{
	struct job *j;
	pthread_t t;

	way = argc > 1 ? argv[1] : "late";
	j = mapped() ? mmap(0, sizeof *j, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(sizeof *j);
	atomic_init(&j->owners, 2);
	if (pthread_create(&t, 0, worker, j))
		return 1;
	if (ends_first())
		pthread_join(t, 0);
	usleep(100000); /* the worker comes first, in this run */
	if (is("shared")) {
		pthread_mutex_lock(&lock);
		j->parts++;
		pthread_mutex_unlock(&lock);
	}
	if (is("grown"))
		j = realloc(j, 1 << 20);
	drop(j);
	if (!ends_first())
		pthread_join(t, 0);
	printf("done\n");
	return 0;
}
