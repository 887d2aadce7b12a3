// A buffer is given away by its address through a pipe, and who gave it away writes to it afterwards.
//
// expect: race
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fortune.h"

struct order {
	long pieces;
	int paid;
};

static int ends[2];

static void *gives(void *unused) {
	struct order *o = calloc(1, sizeof *o);
	o->pieces = 3;
	if (write(ends[1], &o, sizeof o) != sizeof o)
		return 0;
	chance();
	o->paid = 1;
	return unused;
}

static void *takes(void *unused) {
	struct order *o;
	if (read(ends[0], &o, sizeof o) != sizeof o)
		return 0;
	later(5);
	if (o->paid)
		o->pieces++;
	return unused;
}

int main(void) {
	pthread_t t, u;
	if (pipe(ends))
		return 1;
	pthread_create(&t, 0, gives, 0);
	pthread_create(&u, 0, takes, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
