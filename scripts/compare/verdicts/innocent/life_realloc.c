// A table grows by realloc and leaves its old memory, which another thread's table gets; both write their first element under no lock.
// watch: value of struct item
#include "turns.h"
#include <malloc.h>

struct item { long key, value; };

__attribute__((noinline)) static void set(struct item *c, long value) { c->value = value; }

static void *grows(void *unused) {
	own_cache();
	rest(40);
	struct item *table = kept(malloc(100 * sizeof *table)), *wall = kept(malloc(5000));
	set(table, 1);
	table = kept(realloc(table, 400 * sizeof *table));
	set(table, 2);
	rest(160);
	free(wall);
	free(table);
	return unused;
}

static void *allocates(void *unused) {
	own_cache();
	rest(120);
	struct item *table = kept(malloc(100 * sizeof *table));
	set(table, 7);
	free(table);
	return unused;
}

int main(void) {
	mallopt(M_ARENA_MAX, 1);
	both(grows, allocates);
	return 0;
}
