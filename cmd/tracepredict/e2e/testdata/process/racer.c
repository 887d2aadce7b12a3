// Two threads that increment a plain variable, at once and without a lock.
#include "twist.h"

#define ROUNDS 10000
int hits;
static pthread_barrier_t start;

__attribute__((noinline)) static void hit(void) { hits++; }

static void *run(void *unused) {
	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++)
		hit();
	return unused;
}

int main(void) {
	pthread_t a, b;
	pthread_barrier_init(&start, NULL, 2);
	pthread_create(&a, NULL, run, NULL);
	pthread_create(&b, NULL, run, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	if (hits < 2 || hits > 2 * ROUNDS)
		return 1;
	say("counted");
	return 0;
}
