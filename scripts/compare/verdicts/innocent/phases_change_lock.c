// A variable is guarded by one lock in the first phase and by another in the second, which no common lock covers, but a barrier lies between the phases.
// watch: total
#include "turns.h"

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t phase;
static long total;

static void *adds(void *unused) {
	pthread_mutex_lock(&p);
	total++;
	pthread_mutex_unlock(&p);
	pthread_barrier_wait(&phase);
	pthread_mutex_lock(&q);
	total++;
	pthread_mutex_unlock(&q);
	return unused;
}

int main(void) {
	pthread_barrier_init(&phase, NULL, 2);
	both(adds, adds);
	pthread_barrier_destroy(&phase);
	return total != 4;
}
