// stores 1 STORES: a thread stores into a variable so often, and main prints what
// that took. Behind the store stands a jump, at which a probe is cheap.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static volatile long x;
static long stores;
static double wall, cpu; // ns

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *work(void *unused) {
	double wall_before = now(CLOCK_MONOTONIC), cpu_before = now(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 1; i <= stores; i++) {
#if defined(__x86_64__) && !defined(STEPPED)
		__asm__ volatile("movq %1, %0\n\tjmp 1f\n1:" : "=m"(x) : "r"(i));
#else
		x = i;
#endif
	}
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
	wall = now(CLOCK_MONOTONIC) - wall_before;
	return unused;
}

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

int main(int argc, char **argv) {
	stores = argc == 3 && !strcmp(argv[1], "1") ? atol(argv[2]) : 0;
	if (stores < 1) {
		fprintf(stderr, "usage: stores 1 STORES\n");
		return 2;
	}
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 1;
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("{\"pairs\": %ld, \"ns_per_pair\": %.2f, \"cpu_ns_per_pair\": %.2f, \"cpu_s\": %.3f}\n", x, wall / stores, cpu / stores,
	       seconds(used.ru_utime) + seconds(used.ru_stime));
	return x != stores;
}
