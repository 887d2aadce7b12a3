// Two threads write and then read each other's variable under no lock, but they meet between: each posts the other's semaphore and waits for its own.
// watch: left, right
#include "turns.h"
#include <semaphore.h>

static sem_t left_there, right_there;
static int left, right, sums[2];

static void *goes_left(void *unused) {
	left = 1;
	sem_post(&left_there);
	while (sem_wait(&right_there))
		;
	sums[0] = left + right;
	return unused;
}

static void *goes_right(void *unused) {
	rest(10);
	right = 2;
	sem_post(&right_there);
	while (sem_wait(&left_there))
		;
	sums[1] = left + right;
	return unused;
}

int main(void) {
	sem_init(&left_there, 0, 0);
	sem_init(&right_there, 0, 0);
	both(goes_left, goes_right);
	return sums[0] + sums[1] != 6;
}
