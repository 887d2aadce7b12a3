// Two threads increment a counter without a lock, at different times.
//
// expect: race counter
// timed
#include "threads.h"

static int counter;

static void *raise(void *unused) {
	counter++;
	return unused;
}

static void *raise_later(void *unused) {
	later(1);
	counter++;
	return unused;
}

int main(void) {
	RUN(raise, raise_later);
	return counter != 2;
}
