// Both threads add to one eventfd, which nobody reads before they have ended: the one writes the
// total before, the other after, and nothing orders the two.
//
// expect: race total
// watch: total
// args: --order io
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fortune.h"

static int total, events;

static int tell(void) {
	uint64_t one = 1;
	return write(events, &one, sizeof one) == sizeof one;
}

static void *first(void *unused) {
	chance();
	total += 1;
	return tell() ? unused : &total;
}

static void *second(void *unused) {
	later(1);
	if (tell())
		total += 2;
	return unused;
}

int main(void) {
	pthread_t t, u;
	events = eventfd(0, 0);
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return total != 3;
}
