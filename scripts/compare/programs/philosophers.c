// Five dining philosophers, who eat one after the other: each takes the fork on his
// left first.
//
// expect: deadlock
// timed
#include "threads.h"

enum { SEATS = 5 };

static pthread_mutex_t forks[SEATS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int meals[SEATS];

static void eat(int seat) {
	int left = seat, right = (seat + 1) % SEATS;
	pthread_mutex_lock(&forks[left]);
	pthread_mutex_lock(&forks[right]);
	meals[seat]++;
	pthread_mutex_unlock(&forks[right]);
	pthread_mutex_unlock(&forks[left]);
}

static void *philosopher(void *seat) {
	milliseconds(40 * (long)seat);
	eat((int)(long)seat);
	return NULL;
}

int main(void) {
	pthread_t threads[SEATS];
	for (long i = 0; i < SEATS; i++)
		if (pthread_create(&threads[i], NULL, philosopher, (void *)i))
			return 1;
	for (int i = 0; i < SEATS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return meals[0] != 1;
}
