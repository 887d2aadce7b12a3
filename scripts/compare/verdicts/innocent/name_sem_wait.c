// sem_wait is called on two objects without a permit, in opposite orders, but it is the program's own and only counts semantic errors.
#include "turns.h"
#include <stdatomic.h>

struct sem { atomic_int errors; };
static struct sem types, names;

__attribute__((noinline)) int sem_init(struct sem *s, int shared, unsigned value) {
	atomic_store(&s->errors, 0);
	return shared + (int)value;
}
__attribute__((noinline)) int sem_wait(struct sem *s) { return atomic_fetch_add(&s->errors, 1); }
__attribute__((noinline)) int sem_post(struct sem *s) { return atomic_fetch_sub(&s->errors, 1); }

static void *forth(void *unused) {
	sem_wait(&types);
	sem_wait(&names);
	sem_post(&names);
	sem_post(&types);
	return unused;
}

static void *back(void *unused) {
	rest(15);
	sem_wait(&names);
	sem_wait(&types);
	sem_post(&types);
	sem_post(&names);
	return unused;
}

int main(void) {
	sem_init(&types, 0, 1);
	sem_init(&names, 0, 1);
	both(forth, back);
	return atomic_load(&types.errors);
}
