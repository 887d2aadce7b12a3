// The second half first waits by sem_clockwait for a permit, again and again until it has it, and the first half posts it when it is over.
// watch: data
#define _GNU_SOURCE
#include "halves.h"
#include <semaphore.h>

static sem_t over;

static void *first(void *unused) {
	early();
	sem_post(&over);
	return unused;
}

static void *second(void *unused) {
	struct timespec t;
	do {
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_sec++;
	} while (sem_clockwait(&over, CLOCK_MONOTONIC, &t));
	late();
	return unused;
}

int main(void) {
	sem_init(&over, 0, 0);
	both(first, second);
	return 0;
}
