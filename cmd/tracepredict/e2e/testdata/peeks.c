// A shop whose back desk looks whether the front desk has closed a sale, which is not watched, before it
// counts an entry, which is, and locks the stock. Without the sale it does neither.
#include <pthread.h>
#include <time.h>

pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, ledger = PTHREAD_MUTEX_INITIALIZER;
static int sold, entries;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void *sell(void *unused) {
	pthread_mutex_lock(&stock);
	pthread_mutex_lock(&ledger);
	sold = 1;
	entries++;
	pthread_mutex_unlock(&ledger);
	pthread_mutex_unlock(&stock);
	milliseconds(300);
	return unused;
}

static void *refund(void *unused) {
	milliseconds(150);
	pthread_mutex_lock(&ledger);
	if (sold) {
		entries++;
		pthread_mutex_lock(&stock);
		pthread_mutex_unlock(&stock);
	}
	pthread_mutex_unlock(&ledger);
	return unused;
}

int main(void) {
	pthread_t seller, refunder;
	pthread_create(&seller, NULL, sell, NULL);
	pthread_create(&refunder, NULL, refund, NULL);
	pthread_join(seller, NULL);
	pthread_join(refunder, NULL);
	return 0;
}
