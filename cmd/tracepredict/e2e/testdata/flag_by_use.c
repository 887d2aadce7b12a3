/*
 * One thread fills a box, and says in `full`, a plain int, that it has; another one looks once in a while, and empties it.
 *
 * built-in  both access `full` by atomic built-ins
 * early     as built-in, but `full` is set before the box is filled
 * pointer   what is filled is a box of its own, whose address is stored by a built-in
 * late      as pointer, but it is filled when the address has been stored
 * sums      no flag: two numbers are increased, and the other thread adds them up
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct box { int number, weight; };
struct shelf { int full; struct box box, *last; int ones, twos; };

static const char *way;

static int is(const char *what) { return strcmp(way, what) == 0; }

static void fill(struct box *b, int n)
{
	b->number = n;
	b->weight = 2 * n;
}

__attribute__((noinline)) static int put(struct shelf *s, int n)
{
	if (__atomic_load_n(&s->full, __ATOMIC_ACQUIRE))
		return 0;
	if (is("built-in"))
		fill(&s->box, n);
	__atomic_store_n(&s->full, 1, __ATOMIC_RELEASE);
	if (is("early"))
		fill(&s->box, n);
	return 1;
}

__attribute__((noinline)) static int take(struct shelf *s, long *sum)
{
	if (!__atomic_load_n(&s->full, __ATOMIC_ACQUIRE))
		return 0;
	*sum += s->box.number + s->box.weight;
	__atomic_store_n(&s->full, 0, __ATOMIC_RELEASE);
	return 1;
}

__attribute__((noinline)) static void publish(struct shelf *s, int n)
{
	struct box *b = calloc(1, sizeof *b);
	if (is("pointer"))
		fill(b, n);
	__atomic_store_n(&s->last, b, __ATOMIC_RELEASE);
	if (is("late"))
		fill(b, n);
}

__attribute__((noinline)) static int look(struct shelf *s)
{
	struct box *b = __atomic_load_n(&s->last, __ATOMIC_ACQUIRE);
	return b->number + b->weight;
}

static void *fills(void *p)
{
	struct shelf *s = p;
	for (int i = 1; i <= 10; usleep(1000))
		if (is("sums"))
			s->ones = i, s->twos = 2 * i, i++;
		else if (is("pointer") || is("late"))
			publish(s, i++);
		else
			i += put(s, i);
	return 0;
}

static void *empties(void *p)
{
	struct shelf *s = p;
	long sum = 0;
	for (int i = 0; i < 10; usleep(1100))
		if (is("sums"))
			sum += s->twos + s->ones, i++;
		else if (is("pointer") || is("late"))
			sum += look(s), i++;
		else
			i += take(s, &sum);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	struct shelf *s = calloc(1, sizeof *s);
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "built-in";
	s->last = calloc(1, sizeof *s->last);
	pthread_create(&a, 0, fills, s);
	pthread_create(&b, 0, empties, s);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
