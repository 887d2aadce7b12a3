// Locks and counts in four threads, in rounds of new threads; a letter for
// each round, then the sum, which is always the same; then waits for the end of input.
#include "twist.h"

#define ROUNDS 40
#define STEPS 200
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long sum;

static void *work(void *unused) {
	for (int i = 0; i < STEPS; i++) {
		pthread_mutex_lock(&lock);
		sum++;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(void) {
	printf("pid %d\n", getpid());
	fflush(stdout);
	for (int r = 0; r < ROUNDS; r++) {
		pthread_t t[4];
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, work, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		say("round");
	}
	printf("sum %ld\n", sum);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
