// Two threads change a plain variable under no lock, but each holds the one permit of an eventfd that counts as a semaphore.
// watch: total
#include "turns.h"
#include <sys/eventfd.h>

static int fd;
static long total;

static void *adds(void *unused) {
	for (int i = 0; i < 5; i++) {
		eventfd_t n;
		eventfd_read(fd, &n);
		total++;
		eventfd_write(fd, 1);
		rest(3);
	}
	return unused;
}

int main(void) {
	fd = eventfd(1, EFD_SEMAPHORE);
	need(fd >= 0, "eventfd");
	both(adds, adds);
	return total != 10;
}
