// Each branch has an account and a ledger. A deposit locks the account, then the
// ledger; an audit locks the ledger, then the account. The run deposits at one branch
// and audits the other, so that no two threads take the same locks: only by the classes
// of the locks (--lock-classes) does it show that the two can block each other.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
	long balance;
	pthread_mutex_t mu;
};

struct ledger {
	long entries, sum;
	pthread_mutex_t lock;
};

struct branch {
	struct account *account;
	struct ledger *ledger;
};

static void *deposit(void *p) {
	struct branch *b = p;
	pthread_mutex_lock(&b->account->mu);
	b->account->balance += 10;
	pthread_mutex_lock(&b->ledger->lock);
	b->ledger->entries++;
	b->ledger->sum += 10;
	pthread_mutex_unlock(&b->ledger->lock);
	pthread_mutex_unlock(&b->account->mu);
	return NULL;
}

static void *audit(void *p) {
	struct branch *b = p;
	pthread_mutex_lock(&b->ledger->lock);
	pthread_mutex_lock(&b->account->mu);
	if (b->account->balance != b->ledger->sum)
		abort();
	pthread_mutex_unlock(&b->account->mu);
	pthread_mutex_unlock(&b->ledger->lock);
	return NULL;
}

static struct branch *open_branch(void) {
	struct branch *b = malloc(sizeof *b);
	if (!b || !(b->account = calloc(1, sizeof *b->account)) || !(b->ledger = calloc(1, sizeof *b->ledger)))
		abort();
	pthread_mutex_init(&b->account->mu, NULL);
	pthread_mutex_init(&b->ledger->lock, NULL);
	return b;
}

int main(void) {
	struct branch *north = open_branch(), *south = open_branch();
	pthread_t d, a;
	if (pthread_create(&d, NULL, deposit, north) || pthread_create(&a, NULL, audit, south))
		return 1;
	pthread_join(d, NULL);
	pthread_join(a, NULL);
	printf("%ld and %ld\n", north->account->balance, south->account->balance);
	return 0;
}
