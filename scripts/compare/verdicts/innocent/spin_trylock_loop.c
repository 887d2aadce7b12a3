// Nobody ever calls pthread_spin_lock or pthread_mutex_lock: the locks are taken by trying until it works, always one at a time.
// watch: total
#include "turns.h"

static pthread_spinlock_t spin;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *adds(void *unused) {
	for (int i = 0; i < 4; i++) {
		while (pthread_mutex_trylock(&lock))
			rest(1);
		total++;
		pthread_mutex_unlock(&lock);
		while (pthread_spin_trylock(&spin))
			rest(1);
		pthread_spin_unlock(&spin);
	}
	return unused;
}

int main(void) {
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	both(adds, adds);
	pthread_spin_destroy(&spin);
	return total != 8;
}
