// The second thread does not wait for the flag: it looks once, and does its half, with the other order of locks, only if it is set.
// watch: data
#include "halves.h"
#include <stdatomic.h>

struct state { atomic_bool ready; };

static void *first(void *p) {
	early();
	atomic_store(&((struct state *)p)->ready, 1);
	return NULL;
}

static void *second(void *p) {
	rest(20);
	if (atomic_load(&((struct state *)p)->ready))
		late();
	return NULL;
}

int main(void) {
	struct state *s = calloc(1, sizeof *s);
	pthread_t t = start(first, s), u = start(second, s);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	free(s);
	return 0;
}
