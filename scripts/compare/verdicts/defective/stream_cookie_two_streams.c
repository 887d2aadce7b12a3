// The write function of two streams of fopencookie counts the bytes of both under no lock of its own: each call of it
// holds the lock of its own stream only.
//
// expect: race bytes
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#include "fortune.h"

static long bytes;

static ssize_t count(void *unused, const char *text, size_t n) {
	(void)unused, (void)text;
	bytes += n;
	return n;
}

static void *prints(void *out) {
	for (int i = 0; i < 3; i++) {
		fputs("one line\n", out);
		fflush(out);
		later(1);
	}
	return 0;
}

int main(void) {
	pthread_t t[2];
	FILE *out[2];
	for (int i = 0; i < 2; i++) {
		out[i] = fopencookie(0, "w", (cookie_io_functions_t){.write = count});
		pthread_create(&t[i], 0, prints, out[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], 0);
		fclose(out[i]);
	}
	return bytes > 54;
}
