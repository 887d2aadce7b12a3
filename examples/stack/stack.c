// Crates go from the dock to the store over a lock-free stack (Treiber, "Systems
// Programming: Coping with Parallelism", IBM RJ 5118, 1986), which is on the heap:
// its atomic accesses go through pointers. They are observed, since the debug information
// has their type, and order what both threads do with a crate.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct crate {
	struct crate *below;
	int number;
};

struct stack {
	_Atomic(struct crate *) top;
};

static int cargo;

__attribute__((noinline)) static void push(struct stack *s, struct crate *c) {
	struct crate *top = atomic_load(&s->top);
	do
		c->below = top;
	while (!atomic_compare_exchange_weak(&s->top, &top, c));
}

__attribute__((noinline)) static struct crate *pop(struct stack *s) {
	struct crate *top = atomic_load(&s->top);
	while (top && !atomic_compare_exchange_weak(&s->top, &top, top->below))
		;
	return top;
}

__attribute__((noinline)) static void load(void) { cargo++; }

__attribute__((noinline)) static void unload(void) { cargo--; }

static void *dock(void *stack) {
	struct crate *c = malloc(sizeof *c);
	c->number = 1;
	load();
	push(stack, c);
	return NULL;
}

int main(void) {
	struct stack *s = calloc(1, sizeof *s);
	struct crate *c;
	pthread_t t;
	if (!s || pthread_create(&t, NULL, dock, s))
		return 1;
	while (!(c = pop(s)))
		usleep(1000);
	unload();
	pthread_join(t, NULL);
	printf("crate %d, %d left\n", c->number, cargo);
	free(c);
	free(s);
	return 0;
}
