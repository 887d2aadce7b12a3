// Both threads count under no lock, the second one only if its descriptor is behind the first byte (lseek): each
// has opened the file for itself, so that what the other one reads does not move it.
//
// expect: race count
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int file[2];
static long count;

static void *reads(void *unused) {
	char c;
	chance();
	count++;
	if (read(file[0], &c, 1) != 1)
		return 0;
	return unused;
}

static void *looks(void *unused) {
	later(5);
	if (lseek(file[1], 0, SEEK_CUR) > 0)
		count++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	char c;
	for (int i = 0; i < 2; i++)
		file[i] = open("/etc/passwd", O_RDONLY);
	if (read(file[1], &c, 1) != 1)
		return 1;
	pthread_create(&t, 0, reads, 0);
	pthread_create(&u, 0, looks, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return count != 2;
}
