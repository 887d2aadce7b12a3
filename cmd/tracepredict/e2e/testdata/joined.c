/* A static structure that main accesses by its name, and other threads through a pointer that they are given.
 * The argument says how:
 *   first    a thread counts through the pointer, and main by the name, 200 ms later
 *   second   main counts by the name, and a thread through the pointer, 200 ms later
 *   both     two threads count through the pointer under the lock, and main by the name under none
 *   halves   a thread writes one member through the pointer, and main another one in the same word by its name
 *   published  a thread sets what main reads under the lock, and main reads the flag itself under none
 * With a second argument the accesses are ordered, or under the lock. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct job {
	pthread_mutex_t lock;
	long count;
	int half, other;
	int ready;
};

static struct job job = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int right;

static void later(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

__attribute__((noinline)) static void enter(struct job *j)
{
	if (right)
		pthread_mutex_lock(&j->lock);
}

__attribute__((noinline)) static void leave(struct job *j)
{
	if (right)
		pthread_mutex_unlock(&j->lock);
}

static void *counts(void *p)
{
	struct job *j = p;

	enter(j);
	j->count++;
	leave(j);
	return NULL;
}

static void *counts_late(void *p)
{
	later();
	return counts(p);
}

static void *counts_locked(void *p)
{
	struct job *j = p;

	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&j->lock);
		j->count++;
		pthread_mutex_unlock(&j->lock);
	}
	return NULL;
}

static void *halves(void *p)
{
	struct job *j = p;

	for (int i = 0; i < 100; i++)
		j->half += i;
	return NULL;
}

static void *publishes(void *p)
{
	struct job *j = p;

	pthread_mutex_lock(&j->lock);
	j->count = 7;
	j->ready = 1;
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void with(void *(*f)(void *), void (*own)(void))
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, &job))
		return;
	own();
	pthread_join(t, NULL);
}

static void count_late(void)
{
	later();
	enter(&job);
	job.count++;
	leave(&job);
}

static void count_now(void)
{
	enter(&job);
	job.count++;
	leave(&job);
}

static void count_beside(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, counts_locked, &job))
		return;
	count_late();
	pthread_join(t, NULL);
}

static void other_half(void)
{
	for (int i = 0; i < 100; i++)
		job.other += i;
	later();
	if (!right)
		job.half++;
}

static void read_late(void)
{
	later();
	enter(&job);
	int ready = job.ready;
	leave(&job);
	if (ready) {
		pthread_mutex_lock(&job.lock);
		printf("%ld\n", job.count);
		pthread_mutex_unlock(&job.lock);
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	right = argc > 2;
	if (!strcmp(way, "first"))
		with(counts, count_late);
	else if (!strcmp(way, "second"))
		with(counts_late, count_now);
	else if (!strcmp(way, "both"))
		with(counts_locked, count_beside);
	else if (!strcmp(way, "halves"))
		with(halves, other_half);
	else if (!strcmp(way, "published"))
		with(publishes, read_late);
	else
		return 2;
	printf("%ld %d %d\n", job.count, job.half, job.other);
	return 0;
}
