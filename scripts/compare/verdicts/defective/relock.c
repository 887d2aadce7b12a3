// An error-checking mutex is locked again by its owner, who does not look at the result, and
// unlocked twice.
//
// expect: misuse ledger
#include <pthread.h>

#include "fortune.h"

static pthread_mutex_t ledger;
static int balance;

static void add(int n) {
	pthread_mutex_lock(&ledger);
	balance += n;
	pthread_mutex_unlock(&ledger);
}

static void *move(void *unused) {
	pthread_mutex_lock(&ledger);
	add(5);
	add(-5);
	pthread_mutex_unlock(&ledger);
	return unused;
}

int main(void) {
	pthread_t t;
	pthread_mutexattr_t checking;
	pthread_mutexattr_init(&checking);
	pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&ledger, &checking);
	pthread_create(&t, 0, move, 0);
	pthread_join(t, 0);
	return balance;
}
