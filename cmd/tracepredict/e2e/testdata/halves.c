/*
 * A pair of numbers lies in one word of eight bytes. One thread stores both, the first one first, and another thread
 * reads one of them later: "first" or "second". With "beside", the first thread stores the first number alone, and the
 * other one reads the second.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pair { int first, second; };

static const char *way;

static int is(const char *name) { return !strcmp(way, name); }
static __attribute__((noipa)) void store_first(struct pair *p) { p->first = 1; }
static __attribute__((noipa)) void store_second(struct pair *p) { p->second = 2; }
static __attribute__((noipa)) int first(struct pair *p) { return p->first; }
static __attribute__((noipa)) int second(struct pair *p) { return p->second; }

static void *stores(void *p)
{
	store_first(p);
	if (!is("beside"))
		store_second(p);
	return 0;
}

static void *reads(void *p)
{
	usleep(100000);
	printf("%d\n", is("first") ? first(p) : second(p));
	return 0;
}

int main(int argc, char **argv)
{
	struct pair *p = calloc(1, sizeof(*p));
	pthread_t a, b;

	way = argc > 1 ? argv[1] : "first";
	pthread_create(&a, 0, stores, p);
	pthread_create(&b, 0, reads, p);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
