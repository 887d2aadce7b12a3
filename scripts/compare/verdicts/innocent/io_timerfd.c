// The timer is armed by timerfd_settime after the first half, so that the read of its expirations, and the second half, come later.
// watch: data
#include "halves.h"
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int fd;

static void *first(void *unused) {
	early();
	struct itimerspec soon = {.it_value = {0, 10000000}};
	timerfd_settime(fd, 0, &soon, NULL);
	return unused;
}

static void *second(void *unused) {
	uint64_t times;
	if (read(fd, &times, sizeof times) == sizeof times)
		late();
	return unused;
}

int main(void) {
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	need(fd >= 0, "timerfd");
	both(first, second);
	return data != 42;
}
