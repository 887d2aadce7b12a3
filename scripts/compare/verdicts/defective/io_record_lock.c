// Two threads guard a total with a record lock of fcntl: such a lock belongs to the process, so one
// thread does not keep the other out.
//
// expect: race total
// watch: total
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fortune.h"

static int total, file;

static void set(short type) {
	struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
	fcntl(file, F_SETLKW, &whole);
}

static void *add(void *step) {
	later((int)(long)step);
	set(F_WRLCK);
	int old = total;
	chance();
	total = old + 1;
	set(F_UNLCK);
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
