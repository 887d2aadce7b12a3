// Two threads count, each under a record lock of an open file of its own if there is an argument. The files stay open:
// who gets a number that another thread has closed comes after it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int counter, locked;
static char name[] = "/tmp/recordlocks-XXXXXX";

static void *counts(void *unused) {
	int fd = open(name, O_RDWR);
	struct flock l = {.l_whence = SEEK_SET, .l_len = 1};
	for (int i = 0; i < 100; i++) {
		l.l_type = F_WRLCK;
		if (locked && fcntl(fd, F_OFD_SETLKW, &l))
			_exit(1);
		counter++;
		l.l_type = F_UNLCK;
		if (locked)
			fcntl(fd, F_OFD_SETLK, &l);
	}
	return unused;
}

int main(int argc, char **argv) {
	pthread_t threads[2];

	(void)argv;
	locked = argc > 1;
	close(mkstemp(name));
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, counts, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	unlink(name);
	return counter == 0;
}
