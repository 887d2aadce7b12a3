// Two desks lock the stock and the ledger in opposite orders, the back desk 150 ms after the front desk. What
// decides whether the back desk does so differs: DECIDES is a number of the cases below.
//
//	1 OPEN      both look whether the shop is open, which the main thread has written: they can deadlock
//	2 QUEUE     the back desk takes a job from a list on the heap, which the front desk has put there when it is
//	            over: they cannot
//	3 STATIC    the same by a static array
//	4 PARSE     the front desk parses a line in each of its sections, and the back desk reads what it has found
//	5 TOKENS    the back desk parses a line in its own section
//	6 PRIVATE   the front desk looks three times whether the shop is closed, which it alone uses until the back desk
//	            closes it; only the third look is recorded. It locks both once it has looked for the second time, and
//	            still has the desk: they cannot
//	7 HOT       the back desk looks whether the shop is open by code that the main thread has executed ROUNDS times,
//	            while there was another thread: if often, it is observed in samples: they can deadlock
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;

struct job {
	struct job *next;
	int seat;
};

struct shop {
	struct job *jobs;
	volatile int open;
	int level, closed;
	long turnover;
};

static struct shop *shop;
static struct job *counter[4];
static int waiting;
static char line[] = "0 0 0 0 0 0 0 1";

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void sell(void) {
	pthread_mutex_lock(&stock);
	pthread_mutex_lock(&ledger);
	shop->turnover++;
	pthread_mutex_unlock(&ledger);
	pthread_mutex_unlock(&stock);
}

__attribute__((noinline)) static void refund(void) {
	pthread_mutex_lock(&ledger);
	pthread_mutex_lock(&stock);
	shop->turnover++;
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&ledger);
}

#if DECIDES == 1
__attribute__((noinline)) static void look(void) {
	pthread_mutex_lock(&stock);
	if (shop->open) {
		pthread_mutex_lock(&ledger);
		shop->turnover++;
		pthread_mutex_unlock(&ledger);
	}
	pthread_mutex_unlock(&stock);
}

static void front(void) { look(); }

static void back(void) {
	pthread_mutex_lock(&ledger);
	if (shop->open) {
		pthread_mutex_lock(&stock);
		shop->turnover++;
		pthread_mutex_unlock(&stock);
	}
	pthread_mutex_unlock(&ledger);
}
#elif DECIDES == 2
static void front(void) {
	sell();
	struct job *j = malloc(sizeof *j);
	pthread_mutex_lock(&desk);
	j->seat = 1;
	j->next = shop->jobs;
	shop->jobs = j;
	pthread_mutex_unlock(&desk);
}

static void back(void) {
	pthread_mutex_lock(&desk);
	struct job *j = shop->jobs;
	if (j)
		shop->jobs = j->next;
	pthread_mutex_unlock(&desk);
	if (j)
		refund();
}
#elif DECIDES == 3
static struct job only;

static void front(void) {
	sell();
	pthread_mutex_lock(&desk);
	counter[waiting++ & 3] = &only;
	pthread_mutex_unlock(&desk);
}

static void back(void) {
	struct job *j = NULL;
	pthread_mutex_lock(&desk);
	if (waiting > 0)
		j = counter[--waiting & 3];
	pthread_mutex_unlock(&desk);
	if (j)
		refund();
}
#elif DECIDES == 4
static void front(void) {
	sell();
	pthread_mutex_lock(&ledger);
	if (sscanf(line + 14, "%d", &shop->level) != 1)
		abort();
	pthread_mutex_unlock(&ledger);
}

static void back(void) {
	pthread_mutex_lock(&ledger);
	if (shop->level) {
		pthread_mutex_lock(&stock);
		shop->turnover++;
		pthread_mutex_unlock(&stock);
	}
	pthread_mutex_unlock(&ledger);
}
#elif DECIDES == 5
static void front(void) { sell(); }

static void back(void) {
	pthread_mutex_lock(&ledger);
	if (strtok(line, " ")) {
		pthread_mutex_lock(&stock);
		shop->turnover++;
		pthread_mutex_unlock(&stock);
	}
	pthread_mutex_unlock(&ledger);
}
#elif DECIDES == 6
static void front(void) {
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&desk);
		if (!shop->closed && i == 1)
			sell();
		pthread_mutex_unlock(&desk);
	}
}

static void back(void) {
	pthread_mutex_lock(&desk);
	shop->closed = 1;
	pthread_mutex_unlock(&desk);
	refund();
}
#elif DECIDES == 7
__attribute__((noinline)) static int look(struct shop *s) {
	int found = 0;
	for (int i = 0; i < 2000; i++)
		found += s->open;
	return found;
}

static void *rest(void *unused) {
	milliseconds(100);
	return unused;
}

static void front(void) { sell(); }

static void back(void) {
	pthread_mutex_lock(&ledger);
	if (look(shop)) {
		pthread_mutex_lock(&stock);
		shop->turnover++;
		pthread_mutex_unlock(&stock);
	}
	pthread_mutex_unlock(&ledger);
}
#endif

static void *front_desk(void *unused) {
	front();
	milliseconds(300);
	return unused;
}

static void *back_desk(void *unused) {
	milliseconds(150);
	back();
	return unused;
}

int main(void) {
	pthread_t a, b;
	shop = calloc(1, sizeof *shop);
	if (!shop)
		return 1;
	shop->open = 1;
#if DECIDES == 7
	pthread_t other;
	if (pthread_create(&other, NULL, rest, NULL))
		return 1;
	struct shop *open = shop;
	for (int i = 0; i < ROUNDS; i++)
		look(open);
	pthread_join(other, NULL);
#endif
	if (pthread_create(&a, NULL, front_desk, NULL) || pthread_create(&b, NULL, back_desk, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld %d %p\n", shop->turnover, waiting, (void *)counter[0]);
	return 0;
}
