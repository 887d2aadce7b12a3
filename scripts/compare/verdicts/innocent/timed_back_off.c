// Both threads wait for the other's mutex while they hold their own, but with a time limit after which they let go and try again after different pauses.
#include "turns.h"

static pthread_mutex_t m[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *takes(void *p) {
	long own = (long)p;
	rest(own * 15);
	for (int n = 1;; n++) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_mutex_lock(&m[own]);
		int both_held = !pthread_mutex_timedlock(&m[!own], &until);
		if (both_held)
			pthread_mutex_unlock(&m[!own]);
		pthread_mutex_unlock(&m[own]);
		if (both_held)
			return NULL;
		rest(n * (own ? 7 : 1));
	}
}

int main(void) {
	pthread_t s = start(takes, (void *)0), t = start(takes, (void *)1);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return 0;
}
