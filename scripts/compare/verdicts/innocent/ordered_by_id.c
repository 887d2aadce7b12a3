// Transfers nest the locks of two accounts in both orders of the arguments and of the addresses, but always that of the smaller number first.
// watch: balance of struct account
// build: -O2
#include "turns.h"

struct account { int id; pthread_mutex_t lock; long balance; };
static struct account *accounts[3];

static void transfer(struct account *from, struct account *to, long n) {
	struct account *first = from->id < to->id ? from : to, *second = first == from ? to : from;
	pthread_mutex_lock(&first->lock);
	pthread_mutex_lock(&second->lock);
	from->balance -= n;
	to->balance += n;
	pthread_mutex_unlock(&from->lock);
	pthread_mutex_unlock(&to->lock);
}

static void *forth(void *unused) {
	for (int i = 0; i < 3; i++)
		transfer(accounts[i], accounts[(i + 1) % 3], 10);
	return unused;
}

static void *back(void *unused) {
	rest(5);
	for (int i = 0; i < 3; i++)
		transfer(accounts[(i + 1) % 3], accounts[i], 10);
	return unused;
}

int main(void) {
	static const int ids[3] = {7, 2, 5};
	for (int i = 0; i < 3; i++) {
		accounts[i] = calloc(1, sizeof **accounts);
		accounts[i]->id = ids[i];
		pthread_mutex_init(&accounts[i]->lock, NULL);
		accounts[i]->balance = 100;
	}
	both(forth, back);
	long sum = 0;
	for (int i = 0; i < 3; i++)
		sum += accounts[i]->balance;
	return sum != 300;
}
