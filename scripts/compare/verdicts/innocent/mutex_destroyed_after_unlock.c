// Who has unlocked the mutex of an object counts its reference down, by an atomic instruction, and the other thread destroys the mutex when none is left.
#include "turns.h"
#include <stdatomic.h>

struct object {
	pthread_mutex_t lock;
	atomic_int references;
	long uses;
};

static void *uses(void *argument) {
	struct object *o = argument;
	pthread_mutex_lock(&o->lock);
	o->uses++;
	pthread_mutex_unlock(&o->lock);
	atomic_fetch_sub(&o->references, 1);
	return NULL;
}

int main(void) {
	struct object *o = calloc(1, sizeof *o);
	pthread_mutex_init(&o->lock, NULL);
	o->references = 1;
	pthread_t t = start(uses, o);
	rest(200);
	while (atomic_load(&o->references))
		rest(1);
	pthread_mutex_destroy(&o->lock);
	pthread_join(t, NULL);
	free(o);
	return 0;
}
