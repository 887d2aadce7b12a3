// Two threads guard a total with flock on one and the same open file: the lock belongs to the open
// file, so the second call succeeds at once while the first thread is inside.
//
// expect: race total
// watch: total
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "fortune.h"

static int total, file;

static void *add(void *step) {
	later((int)(long)step);
	flock(file, LOCK_EX);
	int old = total;
	chance();
	total = old + 1;
	flock(file, LOCK_UN);
	return 0;
}

int main(void) {
	char name[] = "/tmp/lockXXXXXX";
	pthread_t t, u;
	file = mkstemp(name);
	unlink(name);
	pthread_create(&t, 0, add, (void *)0);
	pthread_create(&u, 0, add, (void *)1);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return total != 2;
}
