// What the programs have in common. A pause puts threads into one order of time
// and makes no order that a tool may rely on.
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_THREADS = 8 };

static inline void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

// later lets what other threads do at an earlier step come first, as a rule.
static inline void later(int step) {
	milliseconds(150L * step);
}

typedef void *routine(void *);

// run runs each routine in a thread of its own, and joins them.
static inline void run(routine **routines, int n) {
	pthread_t threads[MAX_THREADS];
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, routines[i], NULL))
			exit(1);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	puts("done");
}

#define RUN(...) run((routine *[]){__VA_ARGS__}, sizeof((routine *[]){__VA_ARGS__}) / sizeof(routine *))

#endif
