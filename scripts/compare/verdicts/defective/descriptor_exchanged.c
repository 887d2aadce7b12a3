// The number of the open log is atomic: who ends it exchanges it and closes the log, while another thread may have loaded the number and not yet written, so that it writes to whatever gets the number.
//
// expect: race
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fortune.h"

static _Atomic int log_number;

static void *writes(void *p) {
	for (int i = 0; i < 3; i++) {
		int fd = atomic_load(&log_number);
		if (fd >= 0 && write(fd, "line\n", 5) != 5)
			return 0;
		chance();
	}
	return p;
}

static void *ends(void *p) {
	later(2);
	int fd = atomic_exchange(&log_number, -1);
	if (fd >= 0)
		close(fd);
	return p;
}

int main(void) {
	log_number = open("/dev/null", O_WRONLY);
	pthread_t s, t;
	pthread_create(&s, 0, writes, 0);
	pthread_create(&t, 0, ends, 0);
	pthread_join(s, 0);
	pthread_join(t, 0);
	return 0;
}
