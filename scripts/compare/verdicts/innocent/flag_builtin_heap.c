// The flag is a plain int in allocated memory, but all its accesses are __atomic built-ins; at this level they are ordinary moves.
// watch: data
#include "halves.h"

struct task { int payload, state; };

static void *first(void *p) {
	struct task *t = p;
	early();
	t->payload = 5;
	rest(15);
	__atomic_store_n(&t->state, 2, __ATOMIC_RELEASE);
	return NULL;
}

static void *second(void *p) {
	struct task *t = p;
	while (__atomic_load_n(&t->state, __ATOMIC_ACQUIRE) != 2)
		rest(1);
	late();
	return t->payload == 5 ? NULL : p;
}

int main(void) {
	struct task *t = calloc(1, sizeof *t);
	pthread_t a = start(first, t), b = start(second, t);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	free(t);
	return data != 42;
}
