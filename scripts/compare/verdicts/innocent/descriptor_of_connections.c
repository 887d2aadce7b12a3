// Connections come from a queue under a lock; each thread closes the one that it took under no lock, and the next one that is accepted has its number.
#include "turns.h"
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queue[8], queued;

static void put(int fd) {
	pthread_mutex_lock(&lock);
	queue[queued++] = fd;
	pthread_mutex_unlock(&lock);
}

static int take(void) {
	pthread_mutex_lock(&lock);
	int fd = queued ? queue[--queued] : -1;
	pthread_mutex_unlock(&lock);
	return fd;
}

static void *serves(void *unused) {
	char byte;
	for (int i = 0; i < 40; i++) {
		int fd = take();
		if (fd >= 0) {
			need(read(fd, &byte, 1) == 1, "read");
			need(write(fd, "y", 1) == 1, "write");
			close(fd);
		}
		rest(5);
	}
	return unused;
}

int main(void) {
	pthread_t s = start(serves, NULL), t = start(serves, NULL);
	for (int i = 0; i < 6; i++) {
		int ends[2];
		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
		need(write(ends[1], "x", 1) == 1, "write");
		put(ends[0]);
		rest(15);
		char byte;
		need(read(ends[1], &byte, 1) == 1, "read");
		close(ends[1]);
	}
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
