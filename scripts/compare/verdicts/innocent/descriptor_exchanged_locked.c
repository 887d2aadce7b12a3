// The number of the open log is in an atomic variable, and a mutex is held from its load to the end of the write, and from its exchange to the end of the close.
#include "turns.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic int log_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writes(void *unused) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		int fd = atomic_load(&log_number);
		if (fd >= 0)
			need(write(fd, "line\n", 5) == 5, "write");
		pthread_mutex_unlock(&lock);
		rest(30);
	}
	return unused;
}

static void *ends(void *unused) {
	rest(45);
	pthread_mutex_lock(&lock);
	int fd = atomic_exchange(&log_number, -1);
	if (fd >= 0)
		close(fd);
	pthread_mutex_unlock(&lock);
	int other = open("/dev/null", O_RDONLY);
	rest(20);
	close(other);
	return unused;
}

int main(void) {
	log_number = open("/dev/null", O_WRONLY);
	both(writes, ends);
	return 0;
}
