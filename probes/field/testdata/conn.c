// A list of connections whose fields are accessed in many ways. Lines that
// access the field `hits` of a connection say HITS.
#include <stdlib.h>
#include <string.h>

struct stats {
	long bytes;
	int hits;
};

struct conn {
	struct conn *next;
	int state;
	char buf[20];
	struct stats stats;
	int hits;
};

struct server {
	long id;
	struct conn *head;
	struct conn own;
	struct conn pool[4];
};

typedef struct {
	int kind;
	int hits;
} task;

struct server the_server;
struct conn *current;

__attribute__((noinline)) void touch(struct conn *c) { c->hits = 7; } // HITS
__attribute__((noinline)) int peek(const struct conn *c) { return c->hits; } // HITS
__attribute__((noinline)) void bump(struct conn *c) { c->hits++; } // HITS
__attribute__((noinline)) int walk(struct server *s) {
	int n = 0;
	for (struct conn *c = s->head; c; c = c->next)
		n += c->hits; // HITS
	return n;
}
__attribute__((noinline)) void *worker(void *arg) {
	struct conn *c = arg;
	c->hits = 3; // HITS
	return NULL;
}
__attribute__((noinline)) struct conn *fresh(struct server *s) {
	struct conn *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	c->next = s->head;
	s->head = c;
	c->hits = 1; // HITS
	return c;
}
__attribute__((noinline)) void result(struct server *s) { fresh(s)->hits = 9; } // HITS
__attribute__((noinline)) int global(void) { return current->hits; } // HITS
__attribute__((noinline)) void inner(struct server *s) { s->own.hits = 4; } // HITS
__attribute__((noinline)) void element(struct server *s) { s->pool[2].hits = 5; } // HITS
__attribute__((noinline)) void fixed(void) { the_server.own.hits = 6; } // HITS
__attribute__((noinline)) int other(task *t) { return t->hits; }
__attribute__((noinline)) int nested(struct conn *c) { return c->stats.hits; }
__attribute__((noinline)) void atomically(struct conn *c) { __atomic_fetch_add(&c->hits, 1, __ATOMIC_SEQ_CST); } // HITS
__attribute__((noinline)) int indexed(struct conn *all, int i) { return all[i].hits; } // HITS
__attribute__((noinline)) int in_static(unsigned i) { return the_server.pool[i].hits; } // HITS
__attribute__((noinline)) void in_object(struct server *s, long i) { s->pool[i].hits = 8; } // HITS
__attribute__((noinline)) int several(struct conn **all, int i) { return all[2]->hits + all[i]->hits; } // HITS
__attribute__((noinline)) char within(struct conn *c, int i) { return c->buf[i + 36]; } // from where hits is

static inline __attribute__((always_inline)) void mark(struct conn *c, int by) { c->hits += by; } // HITS
__attribute__((noinline)) void inlined(struct server *s) { mark(s->head, 2); }

int main(int argc, char **argv) {
	struct server *s = calloc(1, sizeof *s);
	task t = {1, 2};
	current = fresh(s);
	touch(current);
	bump(current);
	worker(current);
	result(s);
	inner(s);
	element(s);
	fixed();
	in_object(s, argc);
	atomically(current);
	inlined(s);
	return peek(current) + walk(s) + global() + other(&t) + nested(current) + indexed(s->pool, argc) + in_static(argc) + several(&current, argc) + within(current, argc) == 0;
}
