// Two threads print to a stream of fopencookie, whose write function counts the bytes under no lock of its own: the stream's lock is held around each call of it.
#define _GNU_SOURCE
#include "turns.h"

static long bytes;

static ssize_t count(void *unused, const char *text, size_t n) {
	(void)unused, (void)text;
	bytes += n;
	return n;
}

static FILE *out;

static void *prints(void *unused) {
	for (int i = 0; i < 3; i++) {
		fputs("one line\n", out);
		fflush(out);
		rest(30);
	}
	return unused;
}

int main(void) {
	out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = count});
	both(prints, prints);
	fclose(out);
	return bytes != 54;
}
