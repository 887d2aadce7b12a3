/* Functions that are inlined everywhere, and how often each was called: methods_test.go
 * compares. What work does is seen between a copy's beginning and its end. */
#include <stdio.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))
#define APART __attribute__((noinline, noclone))

static volatile long sink, calls[5];

APART void work(long n) { sink += n; }

INLINE long plain(long n) { calls[0]++; work(n); return n + sink; }

INLINE long early(long n)
{
	calls[1]++;
	if (n & 1)
		return 3;
	work(n);
	if (n > 4)
		return sink;
	return sink * n;
}

INLINE void loops(long n)
{
	calls[2]++;
	for (long i = 0; i < n; i++)
		work(i);
}

INLINE int dies(long n) { calls[3]++; if (n < 0) abort(); work(n); return n != 0; }

INLINE long tail(long n) { calls[4]++; work(n + 1); return n; }

APART long one(long n) { return plain(n) + 1; }
APART long two(long n) { return early(n) + early(n + 1); }
APART void three(long n) { loops(n); work(1); loops(n + 1); }
APART long four(long n) { long all = 0; while (n-- > 0) if (dies(n)) all += plain(n) + early(n); return all; }
APART long five(long n) { work(n); return tail(n); }

int main(void)
{
	long all = 0;
	for (long n = 0; n < 7; n++) {
		all += one(n) + two(n) + four(n) + five(n);
		three(n);
	}
	printf("inlined %ld %ld %ld %ld %ld\n", calls[0], calls[1], calls[2], calls[3], calls[4]);
	return all == 1;
}
