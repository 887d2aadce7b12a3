// The bank of the paper on DAME (Sen, Vardhan, Agha, Rosu 2005): a teller moves money between two accounts, each of which
// has a lock, so that there is no race. The auditor adds the balances up in between, and misses what is on its way.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

static pthread_mutex_t checking_lock = PTHREAD_MUTEX_INITIALIZER, saving_lock = PTHREAD_MUTEX_INITIALIZER;
static int checking = 100, saving = 50, sum;
#ifdef GUARDED
static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;
#endif

static void open_bank(void)
{
#ifdef GUARDED
	pthread_mutex_lock(&bank);
#endif
}

static void close_bank(void)
{
#ifdef GUARDED
	pthread_mutex_unlock(&bank);
#endif
}

KEEP void transfer(int amount)
{
	open_bank();
	pthread_mutex_lock(&checking_lock);
	checking -= amount;
	pthread_mutex_unlock(&checking_lock);
	usleep(400000); // the slip goes to the other counter
	pthread_mutex_lock(&saving_lock);
	saving += amount;
	pthread_mutex_unlock(&saving_lock);
	close_bank();
}

KEEP int balance(void)
{
	open_bank();
	pthread_mutex_lock(&checking_lock);
	int total = checking;
	pthread_mutex_unlock(&checking_lock);
	pthread_mutex_lock(&saving_lock);
	total += saving;
	pthread_mutex_unlock(&saving_lock);
	close_bank();
	return total;
}

static void *teller(void *arg)
{
	transfer(10);
	return arg;
}

static void *auditor(void *arg)
{
	usleep(200000); // comes in the middle of the transfer
	sum = balance();
	return arg;
}

int main(void)
{
	pthread_t a, b;

	if (pthread_create(&a, NULL, teller, NULL) || pthread_create(&b, NULL, auditor, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("the auditor counted %d of %d\n", sum, checking + saving);
	return 0;
}
