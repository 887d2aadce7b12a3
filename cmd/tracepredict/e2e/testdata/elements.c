/* Counts its own accesses of atomic elements of arrays and members of unions: a
 * line "= NAME reads writes" for each; what changes one in one step is one of each. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define N 5
static long reads[4][N], writes[4][N];
#define R(what, i) (reads[what][i]++)
#define W(what, i) (writes[what][i]++)
enum { SLOTS, STATE, GRID, WORD };

_Atomic int slots[N];
static volatile int replaced;
static struct { long plain; _Atomic short n; _Atomic long state; char pad[5]; } table[N];
static struct { int first; _Atomic unsigned char grid[2][3]; } box;
static union { _Atomic int word; float number; } both;

__attribute__((noinline)) static int each(int i)
{
	W(SLOTS, i), atomic_store_explicit(&slots[i], i + 1, memory_order_release);
	R(SLOTS, i), W(SLOTS, i), atomic_fetch_add(&slots[i], 2);
	R(SLOTS, i), W(SLOTS, i), replaced = atomic_exchange(&slots[i], 100 + i);
	int was = 100 + i;
	R(SLOTS, i), W(SLOTS, i), atomic_compare_exchange_strong(&slots[i], &was, 50);
	R(SLOTS, i), atomic_compare_exchange_strong(&slots[i], &was, 60);
	R(SLOTS, i);
	return atomic_load(&slots[i]);
}

__attribute__((noinline)) static long walk(int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		table[i].plain = i;
		R(STATE, i), W(STATE, i), table[i].state += 7;
		R(STATE, i), sum += table[i].state + table[i].plain;
	}
	return sum;
}

__attribute__((noinline)) static int rows(int i, int j)
{
	W(GRID, 3 * i + j), atomic_store_explicit(&box.grid[i][j], 9, memory_order_release);
	R(GRID, 3 * i + j);
	return box.grid[i][j] + box.first;
}

__attribute__((noinline)) static int named(void)
{
	W(SLOTS, 3), slots[3] = 8; /* no index at run time; an exchange that only stores */
	R(SLOTS, 3), W(SLOTS, 3), slots[3]++;
	W(WORD, 0), atomic_store_explicit(&both.word, 4, memory_order_relaxed);
	R(WORD, 0);
	return slots[0] * 0 + both.word; /* slots[0]: counted below */
}

int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < N; i++)
		sum += each(i * argc);
	sum += (int)walk(N - 1 + argc / 9) + rows(argc, 0) + rows(0, argc) + named();
	R(SLOTS, 0);
	for (int i = 0; i < N; i++) {
		printf("= slots[%d] %ld %ld\n", i, reads[SLOTS][i], writes[SLOTS][i]);
		printf("= table[%d].state %ld %ld\n", i, reads[STATE][i], writes[STATE][i]);
		printf("= box.grid[%d][%d] %ld %ld\n", i / 3, i % 3, reads[GRID][i], writes[GRID][i]);
	}
	printf("= both.word %ld %ld\n", reads[WORD][0], writes[WORD][0]);
	return sum == -1;
}
