#include "say.h"

/* The field `state` of objects of one type, wherever they lie, accessed through
 * all that a compiler makes of a pointer; the type has neighbours with a field
 * of that name, which are not to be seen. */

struct inner {
	long bytes;
	int state;
};

struct conn {
	struct conn *next;
	char name[12];
	struct inner inner;
	int state;
	int refs;
};

struct server {
	long id;
	struct conn *head;
	struct conn own;
	struct conn pool[3];
};

typedef struct {
	int kind;
	int state;
} task;

static struct server the_server;
static struct conn *current;

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")
#define NOINLINE __attribute__((noinline))

static NOINLINE void by_parameter(struct conn *c, const char *who)
{
	c->state = 7;
	KEEP(c);
	say("write %s", who);
	KEEP(c->state);
	say("read %s", who);
}

static NOINLINE void by_loop(struct server *s)
{
	for (struct conn *c = s->head; c; c = c->next) {
		KEEP(c->state);
		say("read %s", c->name);
	}
}

static NOINLINE void *by_cast(void *arg)
{
	struct conn *c = arg;

	i_am("T1");
	c->state = 3;
	say("write %s", c->name);
	return NULL;
}

static NOINLINE struct conn *make(struct server *s, const char *name)
{
	struct conn *c = (struct conn *)calloc(1, sizeof *c);

	MUST(c != NULL);
	name_is(c, name);
	strcpy(c->name, name);
	c->next = s->head;
	s->head = c;
	c->state = 1;
	say("write %s", name);
	return c;
}

static NOINLINE void by_result(struct server *s)
{
	make(s, "second")->state = 9;
	say("write second");
}

static NOINLINE void by_global(void)
{
	KEEP(current->state);
	say("read %s", current->name);
}

static NOINLINE void by_inner(struct server *s)
{
	s->own.state = 4;
	KEEP(s);
	say("write own");
	s->pool[2].state = 5;
	KEEP(s);
	say("write pool2");
}

static NOINLINE void by_index(struct conn *all, int i)
{
	all[i].state = 8;
	KEEP(all);
	say("write pool1");
}

static NOINLINE void by_static_index(unsigned i)
{
	KEEP(the_server.pool[i].state);
	say("read pool1");
}

/* What lies in the name is no state, whatever the instruction looks like. */
static NOINLINE void beside(struct conn *c, int i)
{
	int n;

	memcpy(&n, c->name + 4 * (long)i, sizeof n);
	KEEP(n);
}

static NOINLINE void by_name(void)
{
	the_server.own.state = 6;
	say("write own");
}

static NOINLINE void atomically(struct conn *c)
{
	KEEP(__atomic_exchange_n(&c->refs, 1, __ATOMIC_SEQ_CST));
	say("update %s atomic", c->name);
}

static inline __attribute__((always_inline)) void mark(struct conn *c, int by)
{
	c->state = by;
	KEEP(c);
}

static NOINLINE void by_inlining(struct server *s)
{
	mark(s->head, 2);
	say("write %s", s->head->name);
}

static NOINLINE void not_seen(task *t, struct conn *c)
{
	t->state = 1;
	KEEP(t);
	c->inner.state = t->state;
	KEEP(c);
}

static NOINLINE int refs_of(struct conn *c) { return c->next != NULL; }

int main(void)
{
	task t = {1, 2};
	struct conn *refs;

	i_am("main");
	name_is(&the_server.own, "own");
	name_is(&the_server.pool[2], "pool2");
	current = make(&the_server, "first");
	by_parameter(current, "first");
	pthread_t other = start(by_cast, "T1", current);
	join(other, "T1");
	by_result(&the_server);
	by_global();
	by_inner(&the_server);
	name_is(&the_server.pool[1], "pool1");
	by_index(the_server.pool, refs_of(current) + 1);
	by_static_index(refs_of(current) + 1);
	beside(current, refs_of(current) + 1);
	by_name();
	by_loop(&the_server);
	by_inlining(&the_server);
	not_seen(&t, current);
	refs = make(&the_server, "counted");
	name_is(refs, "counted"); /* its other field is another object */
	atomically(refs);
	return 0;
}
