// Each owner writes its part of the document under no lock and the last one sums all parts, but the counter's decrement (acquire and release) puts every part before the sum.
// watch: total
#include "turns.h"
#include <stdatomic.h>

struct document { atomic_int owners; long parts[3]; };
static long total;

static void release(struct document *d) {
	if (atomic_fetch_sub_explicit(&d->owners, 1, memory_order_acq_rel) != 1)
		return;
	for (int i = 0; i < 3; i++)
		total += d->parts[i];
	free(d);
}

struct share { struct document *d; int which; };

static void *owner(void *p) {
	struct share *s = p;
	rest(4 * s->which);
	s->d->parts[s->which] = 5 + s->which;
	release(s->d);
	return NULL;
}

int main(void) {
	struct document *d = calloc(1, sizeof *d);
	struct share shares[3];
	pthread_t t[3];
	atomic_init(&d->owners, 3);
	for (int i = 0; i < 3; i++) {
		shares[i] = (struct share){d, i};
		t[i] = start(owner, &shares[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	need(total == 18, "total");
	return 0;
}
