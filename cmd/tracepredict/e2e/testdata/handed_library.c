/* The library of handed.c: a box for one pointer. It is compiled without debug information. */
#include <stdatomic.h>

struct box { void *content; _Atomic char full; };

int box_put(struct box *b, void *p)
{
	if (atomic_load_explicit(&b->full, memory_order_acquire))
		return 0;
	b->content = p;
	atomic_store_explicit(&b->full, 1, memory_order_release);
	return 1;
}

void *box_take(struct box *b)
{
	void *p;

	if (!atomic_load_explicit(&b->full, memory_order_acquire))
		return 0;
	p = b->content;
	atomic_store_explicit(&b->full, 0, memory_order_release);
	return p;
}
