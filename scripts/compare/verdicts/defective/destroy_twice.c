// Two owners of one connection each destroy its mutex when they let it go, one after the other.
//
// expect: misuse
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct connection {
	pthread_mutex_t lock;
	int users;
};

static void *use(void *argument) {
	struct connection *c = argument;
	pthread_mutex_lock(&c->lock);
	c->users--;
	pthread_mutex_unlock(&c->lock);
	return argument;
}

static void drop(struct connection *c) {
	pthread_mutex_destroy(&c->lock);
}

int main(void) {
	struct connection *c = calloc(1, sizeof *c);
	pthread_t t;
	pthread_mutex_init(&c->lock, 0);
	c->users = 2;
	pthread_create(&t, 0, use, c);
	pthread_join(t, 0);
	drop(c);
	drop(c);
	free(c);
	return 0;
}
