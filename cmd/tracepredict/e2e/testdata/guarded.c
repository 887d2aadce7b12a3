// Two threads take turns, round after round, to add under a lock: many accesses of
// one variable, always guarded. A second one is read by both and written by nobody;
// a third is handed from thread to thread by creating and joining them.
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 1500, EACH = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_over;
static volatile int total, settings = 3, handed;

static void *add(void *unused) {
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < EACH; i++) {
			pthread_mutex_lock(&lock);
			total++;
			pthread_mutex_unlock(&lock);
		}
		if (settings != 3)
			return NULL;
		pthread_barrier_wait(&round_over);
	}
	return unused;
}

int main(void) {
	pthread_t a, b;
	handed = 1;
	pthread_barrier_init(&round_over, NULL, 2);
	if (pthread_create(&a, NULL, add, NULL) || pthread_create(&b, NULL, add, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	handed++;
	printf("%d %d\n", total, handed);
	return 0;
}
