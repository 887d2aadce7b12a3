// A list of connections whose fields are accessed in many ways. Lines that
// access the field `hits` say so: HITS r, w or u.
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

__attribute__((noinline)) void touch(struct conn *c) { c->hits = 7; }            // touch
__attribute__((noinline)) int peek(const struct conn *c) { return c->hits; }     // peek
__attribute__((noinline)) void bump(struct conn *c) { c->hits++; }               // bump
__attribute__((noinline)) int walk(struct server *s) {                           // walk
	int n = 0;
	for (struct conn *c = s->head; c; c = c->next)
		n += c->hits;
	return n;
}
__attribute__((noinline)) void *worker(void *arg) {                              // worker
	struct conn *c = arg;
	c->hits = 3;
	return NULL;
}
__attribute__((noinline)) struct conn *fresh(struct server *s) {                 // fresh
	struct conn *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	c->next = s->head;
	s->head = c;
	c->hits = 1;
	return c;
}
__attribute__((noinline)) void result(struct server *s) { fresh(s)->hits = 9; }  // result
__attribute__((noinline)) int global(void) { return current->hits; }             // global
__attribute__((noinline)) void inner(struct server *s) { s->own.hits = 4; }      // inner
__attribute__((noinline)) void element(struct server *s) { s->pool[2].hits = 5; } // element
__attribute__((noinline)) void fixed(void) { the_server.own.hits = 6; }          // fixed
__attribute__((noinline)) int other(task *t) { return t->hits; }                 // not of conn
__attribute__((noinline)) int nested(struct conn *c) { return c->stats.hits; }   // not hits itself
__attribute__((noinline)) void atomically(struct conn *c) { __atomic_fetch_add(&c->hits, 1, __ATOMIC_SEQ_CST); }
__attribute__((noinline)) int indexed(struct conn *all, int i) { return all[i].hits; }

static inline __attribute__((always_inline)) void mark(struct conn *c, int by) { c->hits += by; }
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
	atomically(current);
	inlined(s);
	return peek(current) + walk(s) + global() + other(&t) + nested(current) + indexed(s->pool, argc) == 0;
}
