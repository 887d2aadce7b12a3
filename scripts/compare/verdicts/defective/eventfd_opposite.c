// Two eventfds serve as locks: a read takes one, a write gives it back. Two threads take them in opposite orders.
//
// expect: deadlock
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fortune.h"

static int tape, disk;

static void nest(int outer, int inner) {
	uint64_t token;
	if (read(outer, &token, sizeof token) < 0)
		return;
	chance();
	if (read(inner, &token, sizeof token) < 0 || write(inner, &token, sizeof token) < 0)
		return;
	if (write(outer, &token, sizeof token) < 0)
		return;
}

static void *forth(void *unused) {
	nest(tape, disk);
	return unused;
}

static void *back(void *unused) {
	later(5);
	nest(disk, tape);
	return unused;
}

int main(void) {
	pthread_t t, u;
	tape = eventfd(1, 0);
	disk = eventfd(1, 0);
	pthread_create(&t, 0, forth, 0);
	pthread_create(&u, 0, back, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
