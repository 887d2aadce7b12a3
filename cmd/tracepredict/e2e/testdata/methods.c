// Counts the calls of its own functions, and sums what it passes and returns:
// methods_test.go compares.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

struct queue {
	long sum;
};

static _Atomic long put_calls, put_sum, put_returns, made, freed, facts, evens, odds, sums, sum_args;

APART struct queue *queue_new(int n)
{
	struct queue *q = calloc(1, sizeof(*q));

	made++;
	q->sum = n;
	return q;
}

APART int queue_put(struct queue *q, signed char v, int twice)
{
	put_calls++;
	put_sum += v;
	if (v < 0) {
		put_returns += -1;
		return -1;
	}
	q->sum += twice ? 2 * v : v;
	put_returns += v + 1;
	return v + 1;
}

APART void queue_free(struct queue *q)
{
	freed++;
	free(q);
}

APART static long factorial(int n)
{
	long rest = 1;

	facts++;
	if (n > 1)
		rest = factorial(n - 1);
	__asm__ volatile("" : "+r"(rest)); // no loop
	return n * rest;
}

APART int odd(unsigned n);
APART int even(unsigned n)
{
	evens++;
	if (n == 0)
		return 1;
	return odd(n - 1);
}
APART int odd(unsigned n)
{
	odds++;
	if (n == 0)
		return 0;
	return even(n - 1);
}

APART int sum(int n, ...)
{
	__builtin_va_list list;
	int s = 0;

	sums++;
	sum_args += n;
	__builtin_va_start(list, n);
	while (n-- > 0)
		s += __builtin_va_arg(list, int);
	__builtin_va_end(list);
	return s;
}

static void *work(void *arg)
{
	for (int i = 0; i < 20; i++) {
		struct queue *q = queue_new(i);

		for (int j = -2; j < 5; j++)
			queue_put(q, j, j & 1);
		factorial(5);
		if (even(6) != 1 || odd(6) != 0 || sum(3, 1, 2, 3) != 6)
			abort();
		queue_free(q);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	printf("puts %ld %ld %ld\n", put_calls, put_sum, put_returns);
	printf("others %ld %ld %ld %ld %ld %ld %ld\n", made, freed, facts, evens, odds, sums, sum_args);
	return 0;
}
