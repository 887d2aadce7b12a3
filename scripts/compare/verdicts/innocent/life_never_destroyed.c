// Two structures at one address nest their locks in opposite orders, but the first was freed before; no lock is initialised or destroyed by a call.
#include "turns.h"
#include <malloc.h>

struct pair { pthread_mutex_t a, b; char rest_of_it[4000]; };

static struct pair *make(void) {
	struct pair *p = malloc(sizeof *p);
	p->a = p->b = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	return p;
}

static void *forth(void *unused) {
	own_cache();
	rest(40);
	struct pair *p = make();
	nest(&p->a, &p->b);
	free(p);
	return unused;
}

static void *back(void *unused) {
	own_cache();
	rest(120);
	struct pair *p = make();
	nest(&p->b, &p->a);
	free(p);
	return unused;
}

int main(void) {
	mallopt(M_ARENA_MAX, 1);
	both(forth, back);
	return 0;
}
