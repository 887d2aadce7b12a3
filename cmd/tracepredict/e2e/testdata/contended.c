/* Waits in the kernel whose times are known. For each kind of wait the worker says how long the call took, and main for how
 * long at least it slept: main sees that it sleeps, and ends the wait some time later. A line has the kind and both times, in
 * ns. With the argument apart the same calls are made, and none has to wait. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER, door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static sem_t seats;
static pthread_barrier_t gate;
static pthread_t late;
static int word, rung;
static atomic_int worker_id, late_id, late_ends, step, made;
static long long took;
static int apart;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Returns whether a thread sleeps in futex(2). */
static int sleeps(int tid)
{
	char name[64], text[64] = "", state[256] = "", *end;
	int fd, n;

	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", tid);
	fd = open(name, O_RDONLY);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = 0;
	}
	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
	fd = open(name, O_RDONLY);
	if (fd >= 0) {
		n = read(fd, state, sizeof(state) - 1);
		close(fd);
		state[n > 0 ? n : 0] = 0;
	}
	end = strrchr(state, ')');
	return end && end[2] == 'S' && atoi(text) == SYS_futex;
}

/* Waits until the worker sleeps, and then for 3 ms. Returns when that began. */
static long long wait_asleep(void)
{
	long long from;

	while (!sleeps(worker_id))
		;
	from = now();
	while (now() - from < 3000000)
		;
	return from;
}

static void *last(void *unused)
{
	(void)unused;
	late_id = syscall(SYS_gettid);
	while (!late_ends)
		;
	return NULL;
}

__attribute__((noinline)) static void take_desk(void)
{
	pthread_mutex_lock(&desk);
	pthread_mutex_unlock(&desk);
}

__attribute__((noinline)) static void hear_bell(void)
{
	pthread_mutex_lock(&door);
	while (!rung)
		pthread_cond_wait(&bell, &door);
	pthread_mutex_unlock(&door);
}

__attribute__((noinline)) static void take_seat(void) { sem_wait(&seats); }
__attribute__((noinline)) static void meet(void) { pthread_barrier_wait(&gate); }
__attribute__((noinline)) static void see_off(void) { pthread_join(late, NULL); }
__attribute__((noinline)) static void look(void)
{
	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* Threads that main releases. */
__attribute__((noinline)) static void leave_desk(void) { pthread_mutex_unlock(&desk); }
__attribute__((noinline)) static void ring(void)
{
	pthread_mutex_lock(&door);
	rung = 1;
	pthread_mutex_unlock(&door);
	pthread_cond_signal(&bell);
}
__attribute__((noinline)) static void give_seat(void) { sem_post(&seats); }
__attribute__((noinline)) static void arrive(void) { pthread_barrier_wait(&gate); }
__attribute__((noinline)) static void end_late(void) { late_ends = 1; }
__attribute__((noinline)) static void wink(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static const struct {
	const char *kind;
	void (*waits)(void), (*ends)(void);
} kinds[] = {
	{"lock", take_desk, leave_desk}, {"condition", hear_bell, ring}, {"semaphore", take_seat, give_seat},
	{"barrier", meet, arrive}, {"join", see_off, end_late}, {"other", look, wink},
};
#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))

static void *worker(void *unused)
{
	(void)unused;
	worker_id = syscall(SYS_gettid);
	for (int i = 0; i < KINDS; i++) {
		long long from;

		while (step <= i)
			;
		from = now();
		kinds[i].waits();
		took = now() - from;
		made = i + 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	apart = argc > 1;
	sem_init(&seats, 0, 0);
	pthread_barrier_init(&gate, NULL, apart ? 1 : 2);
	pthread_create(&late, NULL, last, NULL);
	if (!apart)
		pthread_mutex_lock(&desk);
	pthread_create(&t, NULL, worker, NULL);
	while (!worker_id || !late_id)
		;
	for (int i = 0; i < KINDS; i++) {
		long long from = 0, slept = 0;

		if (apart && kinds[i].ends != leave_desk && kinds[i].ends != arrive)
			kinds[i].ends();
		if (apart && kinds[i].ends == end_late) {
			char name[64];

			/* A join need not wait any more for a thread that is not in the list. */
			snprintf(name, sizeof(name), "/proc/self/task/%d", (int)late_id);
			while (!access(name, F_OK))
				;
		}
		step = i + 1;
		if (!apart) {
			from = wait_asleep();
			slept = now() - from;
			kinds[i].ends();
		}
		while (made <= i)
			;
		if (apart)
			took = 0;
		printf("%s %lld %lld\n", kinds[i].kind, slept, took);
	}
	fflush(stdout);
	_exit(0);
}
