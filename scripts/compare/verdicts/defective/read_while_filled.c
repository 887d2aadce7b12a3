// One thread fills a buffer under no lock, while another reads a file into it: the descriptor is a good one.
//
// expect: race buffer
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "fortune.h"

static char buffer[64];
static int file;

static void *fills(void *unused) {
	chance();
	memset(buffer, 'x', sizeof buffer);
	return unused;
}

static void *reads(void *unused) {
	later(5);
	return read(file, buffer, sizeof buffer) == sizeof buffer ? unused : 0;
}

int main(void) {
	pthread_t t, u;
	file = open("/dev/zero", O_RDONLY);
	pthread_create(&t, 0, fills, 0);
	pthread_create(&u, 0, reads, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
