/* Inlined functions two deep, a static function, statics of functions, a
   function that the compiler splits or copies. */
#include <stdio.h>
#include <stdlib.h>

int counter;
static int hidden[4];

static inline __attribute__((always_inline)) int leaf(int x)
{
	counter += x;
	return counter * 3;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	int y = leaf(x + 1);
	return y ^ leaf(x);
}

__attribute__((noinline)) static int worker(int x)
{
	static int once;
	once += middle(x);
	hidden[x & 3] = once;
	return once;
}

__attribute__((noinline)) static int other(int x)
{
	static int calls;
	if (__builtin_expect(x > 1000, 0)) {
		puts("too many");
		abort();
	}
	return calls += x;
}

int main(int argc, char **argv)
{
	(void)argv;
	return (worker(argc) + other(argc) + hidden[argc & 3]) & 1;
}
