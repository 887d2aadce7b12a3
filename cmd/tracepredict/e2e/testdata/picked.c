/* Arrays whose elements code picks when it runs. Each access is one of the source, and
 * the program says how many of its threads there were, reads and writes. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 48, SLOTS = 16 };

struct slot {
	volatile short state;
	volatile long hits;
};

static struct {
	int size;
	struct slot slots[SLOTS];
} shop;
static pthread_mutex_t locks[SLOTS];
static volatile int own[THREADS], table[64], tickets[2];
static volatile char grid[3][5];
static int began[THREADS];
static long reads, writes;

static void *serve(void *arg)
{
	int me = *(int *)arg, sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int k = (i * 7 + me) % SLOTS;

		pthread_mutex_lock(&locks[k]);
		shop.slots[k].state++;
		shop.slots[k].hits += i;
		pthread_mutex_unlock(&locks[k]);
		own[me]++;
		sum += table[i * me % 64];
	}
	tickets[me & 1]++;
	return (void *)(long)sum;
}

/* The element before the one that is named: its address lies before the array. */
__attribute__((noinline)) static int before(int i) { return own[i - 1]; }

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (int i = 0; i < 64; i++) /* alone yet: not recorded */
		table[i] = i;
	for (int i = 0; i < THREADS; i++) {
		int *n = &began[i];

		*n = i;
		pthread_create(&t[i], NULL, serve, n);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 1; i <= THREADS; i++)
		reads += before(i) == ROUNDS;
	for (int i = 0; i < 15; i++)
		grid[i / 5][i % 5] = i;
	printf("%ld reads of whole counts\n", reads);
	reads += THREADS * ROUNDS * 4 + THREADS;
	writes += THREADS * ROUNDS * 3 + THREADS + 15;
	printf("%ld %ld\n", reads, writes);
	return 0;
}
