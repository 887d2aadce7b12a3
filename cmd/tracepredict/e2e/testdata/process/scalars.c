// A tally is handed over by an atomic number on the heap, to which a parameter, a member or a static
// variable points. With LATE, the tally is changed after that.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct door {
	const char *name;
	atomic_int *open;
};

static int tally;
static atomic_int *hall;

__attribute__((noinline)) static void let_in(atomic_int *open)
{
#ifndef LATE
	tally++;
#endif
	atomic_store_explicit(open, 1, memory_order_release);
#ifdef LATE
	usleep(20000); /* the records of two accesses at once may contradict each other */
	tally++;
#endif
}

__attribute__((noinline)) static int may_enter(struct door *d)
{
	return atomic_load_explicit(d->open, memory_order_acquire);
}

__attribute__((noinline)) static int may_pass(void)
{
	return atomic_load_explicit(hall, memory_order_acquire);
}

static void *porter(void *open)
{
	let_in(open);
	return 0;
}

int main(int argc, char **argv)
{
	struct door *d = malloc(sizeof *d);
	pthread_t t;

	d->name = "front";
	d->open = hall = calloc(1, sizeof *hall);
	if (pthread_create(&t, 0, porter, hall))
		return 1;
	while (argc > 1 ? !may_pass() : !may_enter(d))
		sched_yield();
	tally++;
	pthread_join(t, 0);
	printf("%s: tally %d\n", d->name, tally);
	free(hall);
	free(d);
	return 0;
}
