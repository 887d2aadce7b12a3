// A deadlock that a quiet run predicts and a busy one meets: money goes from one account to
// the other and back, and each transfer locks both, in its own order. The accounts are on the
// heap, so a report calls their locks struct account.mu. With the argument "busy" two
// transfers meet half way, for certain, and the program hangs.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct account {
	long balance;
	pthread_mutex_t mu;
};

struct order {
	struct account *from, *to;
	pthread_barrier_t *half; // where the transfers of a busy day meet
	long milliseconds;       // when the clerk comes
};

static struct account *opened(long balance) {
	struct account *account = malloc(sizeof *account);
	if (!account)
		exit(1);
	account->balance = balance;
	pthread_mutex_init(&account->mu, NULL);
	return account;
}

static void transfer(struct order *order, long amount) {
	pthread_mutex_lock(&order->from->mu);
	if (order->half)
		pthread_barrier_wait(order->half);
	pthread_mutex_lock(&order->to->mu);
	order->from->balance -= amount;
	order->to->balance += amount;
	pthread_mutex_unlock(&order->to->mu);
	pthread_mutex_unlock(&order->from->mu);
}

static void *clerk(void *order) {
	struct order *mine = order;
	struct timespec t = {0, mine->milliseconds * 1000000};
	nanosleep(&t, NULL);
	transfer(mine, 5);
	return NULL;
}

static void day(struct account *a, struct account *b, pthread_barrier_t *half) {
	struct order there = {a, b, half, 0}, back = {b, a, half, 20};
	pthread_t clerks[2];
	if (pthread_create(&clerks[0], NULL, clerk, &there) || pthread_create(&clerks[1], NULL, clerk, &back))
		exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(clerks[i], NULL);
}

int main(int argc, char **argv) {
	bool busy = argc > 1 && !strcmp(argv[1], "busy");
	struct account *a = opened(100), *b = opened(100);
	pthread_barrier_t half;
	pthread_barrier_init(&half, NULL, 2);
	day(a, b, NULL);
	if (busy)
		day(a, b, &half);
	printf("%ld and %ld\n", a->balance, b->balance);
	return 0;
}
