// pairs THREADS PAIRS: each of THREADS threads does PAIRS times lock, x = x + 1,
// unlock on one mutex without pause, and main prints what that took.
//
// One thread is one besides main: glibc leaves out the atomic instructions of a
// process that never had a second.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { max_threads = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static volatile long x;
static long pairs;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *work(void *elapsed) {
	pthread_barrier_wait(&ready);
	double began = now();
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&mutex);
		x = x + 1;
		pthread_mutex_unlock(&mutex);
	}
	*(double *)elapsed = now() - began;
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
	double elapsed[max_threads], longest = 0;
	pthread_barrier_init(&ready, NULL, threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, &elapsed[i]))
			return 1;
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		if (elapsed[i] > longest)
			longest = elapsed[i];
	}
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	// All pairs of all threads are done one after the other: they share a mutex.
	printf("{\"pairs\": %ld, \"ns_per_pair\": %.2f, \"cpu_s\": %.3f}\n", x, longest / (threads * pairs),
	       seconds(used.ru_utime) + seconds(used.ru_stime));
	return x != threads * pairs;
}
