// A thread holds a lock and tries another one again and again until it has it, and a second thread nests the two the other
// way round. In this run they do not meet. The first argument selects how the first thread tries: "sleeps" sleeps between
// its tries, "spins" does not, "called" tries in a function of its own, "spinlock" and "standard" use the locks of other
// functions, "fails" fails while a third thread has the lock alone. The rest is innocent: "backs_off" lets go of the first
// lock between its tries, "counts" gives up after many, "once" after one, "stops" when it is told to, and "works" does
// what may let another thread go on.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t tree = PTHREAD_MUTEX_INITIALIZER, page = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t plain;
static int splits, stopped, rounds;
static int turn;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;

static void await(int n)
{
	pthread_mutex_lock(&mutex);
	while (turn < n)
		pthread_cond_wait(&moved, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void reach(int n)
{
	pthread_mutex_lock(&mutex);
	turn = n;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&mutex);
}

static void split(void)
{
	splits++;
	pthread_mutex_unlock(&page);
}

__attribute__((noinline)) static int tried(pthread_mutex_t *m)
{
	return pthread_mutex_trylock(m) == 0;
}

static void sleeps(void)
{
	while (pthread_mutex_trylock(&page) != 0)
		usleep(1000);
	split();
}

static void spins(void)
{
	while (pthread_mutex_trylock(&page) == EBUSY)
		;
	split();
}

static void called(void)
{
	while (!tried(&page))
		sched_yield();
	split();
}

static void spinlock(void)
{
	while (pthread_spin_trylock(&spin) != 0)
		sched_yield();
	splits++;
	pthread_spin_unlock(&spin);
}

static void standard(void)
{
	for (;;) {
		if (mtx_trylock(&plain) == thrd_success)
			break;
		thrd_yield();
	}
	splits++;
	mtx_unlock(&plain);
}

static void backs_off(void)
{
	while (pthread_mutex_trylock(&page) != 0) {
		pthread_mutex_unlock(&tree);
		usleep(1000);
		pthread_mutex_lock(&tree);
	}
	split();
}

static void counts(void)
{
	for (int i = 0; i < 1000; i++) {
		if (pthread_mutex_trylock(&page) == 0) {
			split();
			return;
		}
		usleep(1000);
	}
}

static void once(void)
{
	if (pthread_mutex_trylock(&page) == 0)
		split();
}

static void stops(void)
{
	while (pthread_mutex_trylock(&page) != 0)
		if (__atomic_load_n(&stopped, __ATOMIC_ACQUIRE))
			return;
	split();
}

static void works(void)
{
	while (pthread_mutex_trylock(&page) != 0)
		__atomic_store_n(&rounds, rounds + 1, __ATOMIC_RELEASE);
	split();
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"sleeps", sleeps}, {"spins", spins}, {"called", called}, {"spinlock", spinlock}, {"standard", standard}, {"fails", sleeps},
	{"backs_off", backs_off}, {"counts", counts}, {"once", once}, {"stops", stops}, {"works", works},
};

static const struct way *way;

static void *splitter(void *arg)
{
	if (!strcmp(way->name, "fails"))
		await(1);
	pthread_mutex_lock(&tree);
	if (!strcmp(way->name, "fails"))
		reach(2);
	way->run();
	pthread_mutex_unlock(&tree);
	return arg;
}

static void take(int first)
{
	if (!strcmp(way->name, "spinlock"))
		(first ? pthread_spin_lock : pthread_spin_unlock)(&spin);
	else if (!strcmp(way->name, "standard"))
		(first ? mtx_lock : mtx_unlock)(&plain);
	else
		(first ? pthread_mutex_lock : pthread_mutex_unlock)(&page);
}

static void *reader(void *arg)
{
	if (!strcmp(way->name, "fails")) {
		take(1);
		reach(1);
		await(2);
		usleep(20000); /* it tries meanwhile */
		take(0);
	}
	usleep(60000);
	take(1);
	pthread_mutex_lock(&tree);
	splits++;
	pthread_mutex_unlock(&tree);
	take(0);
	return arg;
}

int main(int argc, char **argv)
{
	for (way = ways; argc > 1 && strcmp(way->name, argv[1]); way++)
		;
	pthread_spin_init(&spin, 0);
	mtx_init(&plain, mtx_plain);
	pthread_t a, b;
	pthread_create(&a, NULL, splitter, NULL);
	pthread_create(&b, NULL, reader, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%s: %d\n", way->name, splits);
	return 0;
}
