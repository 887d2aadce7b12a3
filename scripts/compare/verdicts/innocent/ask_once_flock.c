// Who is refused the lock of a file (flock, LOCK_NB) does nothing: the first half holds it from before the threads begin until it is over.
#define _GNU_SOURCE
#include "halves.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static int mine, theirs;

static void *first(void *unused) {
	early();
	flock(mine, LOCK_UN);
	return unused;
}

static void *second(void *unused) {
	rest(200);
	if (flock(theirs, LOCK_EX | LOCK_NB))
		return unused;
	late();
	flock(theirs, LOCK_UN);
	return unused;
}

int main(void) {
	char name[] = "/tmp/flocked-XXXXXX";
	mine = mkstemp(name);
	theirs = open(name, O_RDWR);
	unlink(name);
	need(!flock(mine, LOCK_EX), "flock");
	both(first, second);
	return 0;
}
