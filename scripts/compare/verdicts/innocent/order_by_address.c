// Transfers lock two accounts in both textual orders, but always the one with the lower address first.
// watch: accounts[0].balance, accounts[1].balance
#include "turns.h"
#include <stdint.h>

static struct account {
	pthread_mutex_t lock;
	long balance;
} accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 50}, {PTHREAD_MUTEX_INITIALIZER, 50}};

static void transfer(struct account *from, struct account *to) {
	struct account *low = (uintptr_t)from < (uintptr_t)to ? from : to, *high = low == from ? to : from;
	pthread_mutex_lock(&low->lock);
	pthread_mutex_lock(&high->lock);
	from->balance--;
	to->balance++;
	pthread_mutex_unlock(&high->lock);
	pthread_mutex_unlock(&low->lock);
}

static void *forth(void *unused) {
	for (int i = 0; i < 3; i++)
		transfer(&accounts[0], &accounts[1]);
	return unused;
}

static void *back(void *unused) {
	for (int i = 0; i < 3; i++)
		transfer(&accounts[1], &accounts[0]);
	return unused;
}

int main(void) {
	both(forth, back);
	return accounts[0].balance != 50;
}
