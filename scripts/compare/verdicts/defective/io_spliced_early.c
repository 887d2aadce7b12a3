// A byte goes through two pipes, moved on by splice, before the letter is written: its read from the second pipe
// orders what came before the write into the first, and the letter came after.
//
// expect: race letter
// watch: letter
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fortune.h"

static int letter, in[2], out[2];

static void *moves(void *unused) {
	if (splice(in[0], 0, out[1], 0, 1, 0) != 1)
		return &letter;
	return unused;
}

static void *first(void *unused) {
	if (write(in[1], "x", 1) == 1)
		letter = 41;
	return unused;
}

static void *second(void *unused) {
	char x;
	if (read(out[0], &x, 1) != 1)
		return 0;
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_t m;
	if (pipe(in) || pipe(out))
		return 1;
	pthread_create(&m, 0, moves, 0);
	pthread_detach(m);
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letter != 42;
}
