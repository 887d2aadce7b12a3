// The locks of two accounts are taken in the order of their balances, which change: two transfers may see different orders.
//
// expect: deadlock
// build: -O2 -static
#include <pthread.h>

#include "fortune.h"

static struct account {
	pthread_mutex_t lock;
	_Atomic long balance;
} checking = {PTHREAD_MUTEX_INITIALIZER, 100}, savings = {PTHREAD_MUTEX_INITIALIZER, 150};

static void transfer(struct account *from, struct account *to, long n) {
	int ordered = from->balance < to->balance;
	struct account *first = ordered ? from : to, *second = ordered ? to : from;
	pthread_mutex_lock(&first->lock);
	chance();
	pthread_mutex_lock(&second->lock);
	from->balance -= n;
	to->balance += n;
	pthread_mutex_unlock(&second->lock);
	pthread_mutex_unlock(&first->lock);
}

static void *salary(void *unused) {
	transfer(&savings, &checking, 80);
	return unused;
}

static void *rent(void *unused) {
	later(1);
	transfer(&checking, &savings, 10);
	return unused;
}

static void *third(void *unused) {
	later(2);
	transfer(&checking, &savings, 100);
	return unused;
}

int main(void) {
	pthread_t t[3];
	pthread_create(&t[0], 0, salary, 0);
	pthread_create(&t[1], 0, rent, 0);
	pthread_create(&t[2], 0, third, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
