// A ticket shop with two desks. The front desk sells: it locks the stock,
// then the ledger. The back desk refunds: it locks the ledger, then the stock.
// In this run the front desk has sold everything before the first refund comes
// in, so the two never meet; both count the tickets left without a lock.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
int tickets = 100;
static int shelf[100], entries;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void sell(int seat) {
	pthread_mutex_lock(&stock);
	shelf[seat] = 1;
	pthread_mutex_lock(&ledger);
	entries++;
	pthread_mutex_unlock(&ledger);
	pthread_mutex_unlock(&stock);
	tickets--;
}

__attribute__((noinline)) static void refund(int seat) {
	pthread_mutex_lock(&ledger);
	entries++;
	pthread_mutex_lock(&stock);
	shelf[seat] = 0;
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&ledger);
	tickets++;
}

static void *front_desk(void *unused) {
	for (int seat = 0; seat < 20; seat++)
		sell(seat);
	milliseconds(300); // tidy up, close the shutters
	return unused;
}

static void *back_desk(void *unused) {
	milliseconds(150); // the first refund comes in later
	for (int seat = 0; seat < 5; seat++)
		refund(seat);
	return unused;
}

int main(void) {
	pthread_t front, back;
	if (pthread_create(&front, NULL, front_desk, NULL) || pthread_create(&back, NULL, back_desk, NULL))
		return 1;
	pthread_join(front, NULL);
	pthread_join(back, NULL);
	printf("%d tickets left, %d entries\n", tickets, entries);
	return 0;
}
