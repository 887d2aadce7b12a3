/*
 * More accesses through pointers than one run has room for: those of huge have no probes, though they
 * come first. The last function has a race with itself, unless the way is "locked". In the way "mixed", plain code
 * also loads what atomic instructions change.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct counts {
	pthread_mutex_t lock;
	int turns, both, never, mixed;
};

static int locked, mixed;

#define LOADS(n, p)                                              \
	__asm__ volatile(".rept " #n "\n\tmovl 4(%0), %%eax\n\t.endr" \
			 :                                               \
			 : "r"(p)                                        \
			 : "eax", "memory")

__attribute__((noinline)) static void huge(struct counts *c)
{
	LOADS(199000, c);
}

__attribute__((noinline)) static void large(struct counts *c)
{
	LOADS(60000, c);
}

static void last(struct counts *c);

static void *work(void *arg)
{
	struct counts *c = arg;

	if (mixed) {
		__atomic_fetch_add(&c->mixed, 1, __ATOMIC_SEQ_CST);
		(void)*(volatile int *)&c->mixed;
	}
	pthread_mutex_lock(&c->lock);
	c->turns++;
	if (locked)
		last(c);
	pthread_mutex_unlock(&c->lock);
	if (!locked)
		last(c);
	return NULL;
}

static void (*volatile never_called[])(struct counts *) = {huge, large};

int main(int argc, char **argv)
{
	struct counts *c = calloc(1, sizeof *c);
	pthread_t t[2];

	locked = argc > 1 && !strcmp(argv[1], "locked");
	mixed = argc > 1 && !strcmp(argv[1], "mixed");
	pthread_mutex_init(&c->lock, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, c);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	if (c->never)
		never_called[c->never & 1](c);
	free(c);
	return 0;
}

__attribute__((noinline)) static void last(struct counts *c)
{
	c->both++;
}
