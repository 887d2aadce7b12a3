// A line goes through a pseudo-terminal before the letter is written: its read orders what came before the
// line, and the letter came after.
//
// expect: race letter
// watch: letter
// build: -lutil
#define _GNU_SOURCE
#include <pthread.h>
#include <pty.h>
#include <unistd.h>

#include "fortune.h"

static int letter, master, slave;

static void *first(void *unused) {
	if (write(master, "go\n", 3) == 3)
		letter = 41;
	return unused;
}

static void *second(void *unused) {
	char line[8];
	if (read(slave, line, sizeof line) != 3)
		return 0;
	later(1);
	letter++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	if (openpty(&master, &slave, 0, 0, 0))
		return 1;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return letter != 42;
}
