// What the defective programs share. A pause keeps the observed run fortunate, and orders nothing.
// With STRESS there are waits of random length instead, and at other places too: run often enough,
// the program then meets its error.
#ifndef FORTUNE_H
#define FORTUNE_H

#include <time.h>

static inline void nanoseconds(long n) {
	struct timespec t = {n / 1000000000, n % 1000000000};
	nanosleep(&t, 0);
}

#ifdef STRESS
static inline void chance(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	nanoseconds((unsigned)t.tv_nsec * 2654435761u % 200000);
}
static inline void later(int step) {
	(void)step;
	chance();
}
#else
// chance is where another thread may come between.
static inline void chance(void) {}
// later lets what other threads do at an earlier step come first, as a rule.
static inline void later(int step) { nanoseconds(40000000L * step); }
#endif

#endif
