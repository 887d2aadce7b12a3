// A bank pays out a loan: the manager approves it and enters that in the ledger, and a clerk pays. Nothing but the speed
// of the two makes the approval come first: the clerk pays without having looked into the ledger.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

// As if these were in a library: the compiler does not look into them where they are called.
#define KEEP __attribute__((noipa))

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static int entries, approvals, paid;

KEEP void approve(int loan)
{
	approvals += loan;
}

KEEP void pay(int loan)
{
	paid += loan;
}

static void *manager(void *arg)
{
	approve(1);
	pthread_mutex_lock(&ledger);
	entries++;
	pthread_mutex_unlock(&ledger);
	return arg;
}

static void *clerk(void *arg)
{
	usleep(200000); // time enough to approve a loan
#ifdef READ_FIRST
	pthread_mutex_lock(&ledger);
	int known = entries;
	pthread_mutex_unlock(&ledger);
	if (known == 0)
		return arg;
#endif
	pay(1);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	if (pthread_create(&a, NULL, manager, NULL) || pthread_create(&b, NULL, clerk, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d approved, %d paid\n", approvals, paid);
	return 0;
}
