// cnd_wait is called without the mutex, with two different ones, and never returns late, but it is the program's own and only notes a candidate's weight.
#include "turns.h"
#include <stdatomic.h>

struct candidate { atomic_int weight; };
static struct candidate c;
static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) int cnd_wait(struct candidate *x, pthread_mutex_t *unused) { return atomic_fetch_add(&x->weight, unused != NULL) < 0; }
__attribute__((noinline)) int cnd_signal(struct candidate *x) { return atomic_fetch_sub(&x->weight, 1) < 0; }

static void *notes(void *unused) {
	cnd_wait(&c, &p);
	pthread_mutex_lock(&p);
	cnd_wait(&c, &q);
	cnd_signal(&c);
	pthread_mutex_unlock(&p);
	cnd_signal(&c);
	return unused;
}

int main(void) {
	both(notes, notes);
	return atomic_load(&c.weight);
}
