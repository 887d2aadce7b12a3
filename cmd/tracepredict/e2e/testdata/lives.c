#include "say.h"
#include <malloc.h>

/* Objects that are allocated and freed in all ways: one at an address that was
 * another's is a new object. */

struct conn {
	long id;
	int state;
	char rest[200];
};

#define NOINLINE __attribute__((noinline))

static NOINLINE void *hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static NOINLINE void use(struct conn *c, const char *name)
{
	c->state = 1;
	say("write %s", name);
}

static NOINLINE struct conn *with(int how)
{
	void *p = NULL;

	switch (how) {
	case 0:
		return (struct conn *)malloc(sizeof(struct conn));
	case 1:
		return (struct conn *)calloc(1, sizeof(struct conn));
	case 2:
		return (struct conn *)aligned_alloc(16, sizeof(struct conn));
	case 3:
		MUST(posix_memalign(&p, 16, sizeof(struct conn)) == 0);
		return (struct conn *)p;
	case 4:
		return (struct conn *)realloc(hide(NULL), sizeof(struct conn));
	case 5:
		return (struct conn *)reallocarray(hide(NULL), 1, sizeof(struct conn));
	default:
		return (struct conn *)memalign(16, sizeof(struct conn));
	}
}

int main(void)
{
	static const char *names[][2] = {{"a0", "b0"}, {"a1", "b1"}, {"a2", "b2"}, {"a3", "b3"}, {"a4", "b4"}, {"a5", "b5"}, {"a6", "b6"}};
	struct conn *c, *moved;

	i_am("main");
	for (int how = 0; how < 7; how++) {
		for (int n = 0; n < 2; n++) {
			c = with(how);
			name_is(c, names[how][n]);
			use(c, names[how][n]);
			use(c, names[how][n]);
			free(hide(c));
		}
	}
	/* Small blocks are not told of, but do not disturb. */
	for (int n = 0; n < 100; n++)
		free(hide(malloc(24)));
	c = (struct conn *)malloc(sizeof *c + 64);
	name_is(c, "kept");
	use(c, "kept");
	moved = (struct conn *)realloc(c, sizeof *c); /* musl moves it, glibc does not */
	if (moved != c)
		name_is(moved, "kept");
	c = moved;
	use(c, "kept");
	void *barrier = hide(malloc(sizeof *c)); /* so that it cannot grow */
	moved = (struct conn *)realloc(c, 1 << 16);
	MUST(moved != c);
	name_is(moved, "moved");
	use(moved, "moved");
	free(hide(barrier));
	c = with(0); /* where `kept` was, perhaps */
	name_is(c, "after");
	use(c, "after");
	free(hide(moved));
	free(hide(c));
	return 0;
}
