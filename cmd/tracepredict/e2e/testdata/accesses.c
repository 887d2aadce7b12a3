/* Counts its own accesses of what is watched: each R and W beside the access
 * that it counts. The last lines say how many there were: "= NAME reads writes";
 * what an instruction does in one, such as x++, is one of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HITS, TOTAL, CALLS, STATE, SUM, FLAG, LEAKED, N };
static long reads[N], writes[N];
#define R(x) (reads[x]++)
#define W(x) (writes[x]++)

volatile int hits;
static volatile long total;
struct slot { long key; volatile short state; char pad[3]; };
struct slot slots[8];
long sums[16];
volatile unsigned flag;
volatile int leaked;
void *(*volatile fill)(void *, int, size_t) = memset;

__attribute__((noinline)) void plain(int n)
{
	static volatile unsigned char calls;
	W(CALLS), calls = n;
	R(CALLS), W(CALLS), calls++;
	W(HITS), hits = n;
	R(HITS), W(HITS), hits += 3;
	R(HITS);
	if (hits > 100)
		W(HITS), hits = 0;
	R(TOTAL), W(TOTAL), total -= n;
}

__attribute__((noinline)) void indexed(int i)
{
	if (i == 3)
		W(STATE), R(STATE), W(STATE);
	slots[i].state = i;
	slots[i].state++;
	slots[i].key = i;
}

__attribute__((noinline)) long walk(void)
{
	long all = 0;
	R(STATE);
	for (struct slot *p = slots; p < slots + 8; p++)
		all += p->state + p->key;
	return all;
}

__attribute__((noinline)) void forward(int n)
{
	if (n > 5)
		W(SUM);
	for (int i = 0; i < n; i++)
		sums[i] = i;
}

__attribute__((noinline)) void before(int i)
{
	if (i == 6)
		R(SUM), W(SUM);
	sums[i - 1] += i;
}

__attribute__((noinline)) void clear(size_t n)
{
	if (n > 5 * sizeof(long))
		W(SUM);
	memset(sums, 0, n);
}

__attribute__((noinline)) void swap(unsigned old, unsigned new)
{
	R(FLAG);
	if (__sync_bool_compare_and_swap(&flag, old, new))
		W(FLAG);
	R(FLAG), W(FLAG), __sync_fetch_and_add(&flag, 2);
}

__attribute__((noinline)) void through(volatile int *p)
{
	R(LEAKED), W(LEAKED), *p += 1;
}

int main(void)
{
	static const char *names[N] = {"hits", "total", "calls", "slots[3].state", "sums[5]", "flag", "leaked"};
	long all = 0;
	for (int i = 0; i < 16; i++) {
		plain(i * 9);
		indexed(i & 7);
		all += walk();
		forward(i);
		if (i)
			before(i);
		clear(i * sizeof(long));
		swap(2 * i, i);
	}
	W(LEAKED), leaked = all & 1;
	through(&leaked);
	for (int i = 0; i < N; i++)
		printf("= %s %ld %ld\n", names[i], reads[i], writes[i]);
	return 0;
}
