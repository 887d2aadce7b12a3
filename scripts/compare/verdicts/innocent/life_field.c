// Two threads write one field at one address under no lock, but it is a field of two objects: the first was freed before the second was allocated.
// watch: state of struct conn
#include "turns.h"
#include <malloc.h>

struct conn { int fd, state; char buffer[2000]; };

__attribute__((noinline)) static void step(struct conn *c) { c->state++; }

static void *serves(void *p) {
	own_cache();
	rest(40 + 80 * (long)p);
	struct conn *c = kept(malloc(sizeof *c));
	c->fd = 3;
	c->state = 0;
	for (int i = 0; i < 3; i++)
		step(c);
	free(c);
	return NULL;
}

int main(void) {
	mallopt(M_ARENA_MAX, 1);
	pthread_t s = start(serves, (void *)0), t = start(serves, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
