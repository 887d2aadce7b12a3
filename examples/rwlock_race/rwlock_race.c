// Two threads read a price list under its read lock, and both count their
// visits in the same variable: a read lock lets both in at the same time.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
int hits;
static int price[8] = {3, 1, 4, 1, 5, 9, 2, 6};

__attribute__((noinline)) static int cheapest(void) {
	int best = price[0];
	pthread_rwlock_rdlock(&prices);
	for (int i = 1; i < 8; i++)
		best = price[i] < best ? price[i] : best;
	hits++;
	pthread_rwlock_unlock(&prices);
	return best;
}

__attribute__((noinline)) static int dearest(void) {
	int best = price[0];
	pthread_rwlock_rdlock(&prices);
	for (int i = 1; i < 8; i++)
		best = price[i] > best ? price[i] : best;
	hits++;
	pthread_rwlock_unlock(&prices);
	return best;
}

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void *left(void *unused) {
	if (cheapest() != 1)
		puts("wrong");
	milliseconds(300);
	return unused;
}

static void *right(void *unused) {
	milliseconds(150);
	if (dearest() != 9)
		puts("wrong");
	return unused;
}

int main(void) {
	pthread_t l, r;
	if (pthread_create(&l, NULL, left, NULL) || pthread_create(&r, NULL, right, NULL))
		return 1;
	pthread_join(l, NULL);
	pthread_join(r, NULL);
	puts("done");
	return 0;
}
