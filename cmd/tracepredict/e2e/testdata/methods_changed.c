// Functions whose parameters a compiler may leave out, and one whose version is
// chosen when the program is loaded. Sums what it passes: methods_test.go compares.
#include <stdio.h>

#define APART __attribute__((noinline))

static volatile long sink;
static long calls, a_sum, b_sum, picks;

static APART long first(long unread, long a, long b)
{
	calls++;
	a_sum += a;
	b_sum += b;
	sink = a;
	return 3 * a + b;
}

static APART long last(long a, long unread)
{
	calls++;
	a_sum += a;
	sink = a;
	return 5 * a;
}

APART long seen(long unread, long a)
{
	calls++;
	a_sum += a;
	sink = a;
	return 7 * a;
}

static long pick_small(long a) { sink = a; picks++; return a; }
static long pick_large(long a) { sink = a; picks++; return a + 1; }

static long (*resolve_pick(void))(long)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse2") ? pick_small : pick_large;
}
long pick(long) __attribute__((ifunc("resolve_pick")));

int main(int argc, char **argv)
{
	for (long i = 1; i <= 10; i++) {
		sink = first(i * 100, i, i + argc) + last(i, i * 1000) + seen(i * 100, i);
		sink = pick(i);
	}
	printf("changed %ld %ld %ld %ld\n", calls, a_sum, b_sum, picks);
	return 0;
}
