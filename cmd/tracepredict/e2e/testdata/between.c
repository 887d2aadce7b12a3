// A ticket shop whose desks look at the stock, which the other desk changes, before they lock the
// second mutex.
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static int tickets = 100, entries;

static void *sell(void *unused) {
	pthread_mutex_lock(&stock);
	if (tickets > 0) {
		pthread_mutex_lock(&ledger);
		tickets--, entries++;
		pthread_mutex_unlock(&ledger);
	}
	pthread_mutex_unlock(&stock);
	return unused;
}

static void *refund(void *unused) {
	pthread_mutex_lock(&ledger);
	if (entries > 0) {
		pthread_mutex_lock(&stock);
		tickets++, entries--;
		pthread_mutex_unlock(&stock);
	}
	pthread_mutex_unlock(&ledger);
	return unused;
}

int main(void) {
	pthread_t seller, refunder;
	pthread_create(&seller, NULL, sell, NULL);
	pthread_join(seller, NULL);
	pthread_create(&refunder, NULL, refund, NULL);
	pthread_join(refunder, NULL);
	printf("%d tickets, %d entries\n", tickets, entries);
	return 0;
}
