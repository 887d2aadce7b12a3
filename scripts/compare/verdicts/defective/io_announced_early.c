// A letter is announced through a pipe before it is written: the read from the pipe orders what
// came before the announcement, and the letter came after.
//
// expect: race letter
// watch: letter
// args: --order io
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int letter, channel[2];

static void *send(void *unused) {
	if (write(channel[1], "x", 1) == 1)
		letter = 42;
	return unused;
}

static void *receive(void *unused) {
	char x;
	(void)unused;
	if (read(channel[0], &x, 1) != 1)
		return 0;
	later(1);
	return (void *)(long)letter;
}

int main(void) {
	pthread_t t, u;
	void *got;
	if (pipe(channel))
		return 1;
	pthread_create(&t, 0, send, 0);
	pthread_create(&u, 0, receive, 0);
	pthread_join(t, 0);
	pthread_join(u, &got);
	return (long)got != 42;
}
