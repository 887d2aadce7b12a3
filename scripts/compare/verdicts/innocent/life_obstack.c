// Two threads nest locks in an obstack at one address in opposite orders, but the first object was freed (obstack_free) before the second was made.
#include "turns.h"
#include <obstack.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct scope { pthread_mutex_t a, b; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct obstack stack;

static void *forth(void *unused) {
	pthread_mutex_lock(&lock);
	struct scope *s = obstack_alloc(&stack, sizeof *s);
	*s = (struct scope){PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	nest(&s->a, &s->b);
	obstack_free(&stack, s);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *back(void *unused) {
	rest(20);
	pthread_mutex_lock(&lock);
	struct scope *s = obstack_alloc(&stack, sizeof *s);
	*s = (struct scope){PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	nest(&s->b, &s->a);
	obstack_free(&stack, s);
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	obstack_init(&stack);
	both(forth, back);
	obstack_free(&stack, NULL);
	return 0;
}
