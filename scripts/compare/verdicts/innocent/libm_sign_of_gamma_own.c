// Two threads call lgamma_r, which leaves the sign of the result with its caller.
// build: -lm
#define _GNU_SOURCE
#include "turns.h"
#include <math.h>

static double results[2];

static void *calculates(void *which) {
	long i = (long)which;
	int sign;
	rest(200 * i);
	results[i] = lgamma_r(i ? 2.5 : -0.5, &sign);
	if (sign < 0)
		results[i] = -results[i];
	return NULL;
}

int main(void) {
	pthread_t s = start(calculates, (void *)0), t = start(calculates, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return results[0] > 100;
}
