// pairs THREADS PAIRS: each of THREADS threads does PAIRS times lock, x = x + 1,
// unlock on one mutex without pause, and main prints what that took.
//
// One thread is one besides main: glibc leaves out the atomic instructions of a
// process that never had a second.
//
// With -DOWN each thread has a mutex and an x of its own, so that the threads do not wait for each other.
//
// With -DFLOOR nothing is locked: each of the two calls is a function that begins
// with an instruction that the kernel emulates under a probe.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#ifdef FLOOR
__attribute__((noinline)) void floor_lock(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) void floor_unlock(void) { __asm__ volatile("nop"); }
#define pthread_mutex_lock(mutex) floor_lock()
#define pthread_mutex_unlock(mutex) floor_unlock()
#endif

enum { max_threads = 64 };

struct guarded {
	pthread_mutex_t mutex;
	volatile long x;
} __attribute__((aligned(128)));

static struct guarded all[max_threads]; // zero is PTHREAD_MUTEX_INITIALIZER
static pthread_barrier_t ready;
static long pairs;

struct took {
	struct guarded *uses;
	double wall, cpu; // ns
};

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *work(void *arg) {
	struct took *took = arg;
	struct guarded *g = took->uses;
	pthread_barrier_wait(&ready);
	double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&g->mutex);
		g->x = g->x + 1;
		pthread_mutex_unlock(&g->mutex);
	}
	took->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	took->wall = now(CLOCK_MONOTONIC) - wall;
	return NULL;
}

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

int main(int argc, char **argv) {
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	pairs = argc > 2 ? atol(argv[2]) : 0;
	if (threads < 1 || threads > max_threads || pairs < 1) {
		fprintf(stderr, "usage: pairs THREADS(1..%d) PAIRS\n", max_threads);
		return 2;
	}
	pthread_t thread[max_threads];
	struct took took[max_threads];
	double wall = 0, cpu = 0;
	pthread_barrier_init(&ready, NULL, threads);
	for (int i = 0; i < threads; i++) {
#ifdef OWN
		took[i].uses = &all[i];
#else
		took[i].uses = &all[0];
#endif
		if (pthread_create(&thread[i], NULL, work, &took[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		if (took[i].wall > wall)
			wall = took[i].wall;
		cpu += took[i].cpu;
	}
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	long x = 0;
	for (int i = 0; i < max_threads; i++)
		x += all[i].x;
	// As if all pairs of all threads were done one after the other, as they are if the threads share a mutex.
	printf("{\"pairs\": %ld, \"ns_per_pair\": %.2f, \"cpu_ns_per_pair\": %.2f, \"cpu_s\": %.3f}\n", x,
	       wall / (threads * pairs), cpu / (threads * pairs), seconds(used.ru_utime) + seconds(used.ru_stime));
	return x != threads * pairs;
}
