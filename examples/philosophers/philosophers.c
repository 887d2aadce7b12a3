// The dining philosophers, as many as the argument says (5): each takes the fork on the
// left, then the one on the right. They come to the table one after the other, so that
// none has to wait. However many there are, it is one error, on the same two lines.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 1000 };

struct seat {
	pthread_t philosopher;
	pthread_mutex_t fork; // on the left
	struct seat *right;
	long number;
};

static struct seat table[MOST];

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void *dine(void *at) {
	struct seat *seat = at;
	milliseconds(seat->number);
	pthread_mutex_lock(&seat->fork);
	pthread_mutex_lock(&seat->right->fork);
	pthread_mutex_unlock(&seat->right->fork);
	pthread_mutex_unlock(&seat->fork);
	return NULL;
}

static void lay(long seats) {
	for (long i = 0; i < seats; i++) {
		pthread_mutex_init(&table[i].fork, NULL);
		table[i].right = &table[(i + 1) % seats];
		table[i].number = i;
	}
}

int main(int argc, char **argv) {
	long seats = argc > 1 ? atol(argv[1]) : 5;
	if (seats < 2 || seats > MOST)
		return 1;
	lay(seats);
	for (long i = 0; i < seats; i++)
		if (pthread_create(&table[i].philosopher, NULL, dine, &table[i]))
			return 1;
	for (long i = 0; i < seats; i++)
		pthread_join(table[i].philosopher, NULL);
	printf("%ld philosophers ate\n", seats);
	return 0;
}
