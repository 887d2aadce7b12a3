// Who counts the last reference down within the mutex of an object gives the other thread leave to destroy it, but
// still has to unlock the mutex.
//
// expect: misuse
// expect: race
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fortune.h"

struct object {
	pthread_mutex_t lock;
	atomic_int references;
	long uses;
};

static void *uses(void *argument) {
	struct object *o = argument;
	pthread_mutex_lock(&o->lock);
	o->uses++;
	atomic_fetch_sub(&o->references, 1);
	chance();
	pthread_mutex_unlock(&o->lock);
	return 0;
}

int main(void) {
	struct object *o = calloc(1, sizeof *o);
	pthread_t t;
	pthread_mutex_init(&o->lock, 0);
	o->references = 1;
	pthread_create(&t, 0, uses, o);
	later(5);
	while (atomic_load(&o->references))
		nanoseconds(1000000);
	pthread_mutex_destroy(&o->lock);
	pthread_join(t, 0);
	return 0;
}
