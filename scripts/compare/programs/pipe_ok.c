// A letter is handed over by a byte through a pipe.
//
// expect: nothing
#include "threads.h"
#include <unistd.h>

static int letter, ends[2];

static void *writer(void *unused) {
	letter = 41;
	if (write(ends[1], "!", 1) != 1)
		exit(1);
	return unused;
}

static void *reader(void *unused) {
	char byte;
	if (read(ends[0], &byte, 1) != 1)
		exit(1);
	letter++;
	return unused;
}

int main(void) {
	if (pipe(ends))
		return 1;
	RUN(writer, reader);
	return letter != 42;
}
