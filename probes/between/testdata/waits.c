// Functions that wait on a condition. Their names say whether a thread that is woken for something else
// only waits again: yes_, or no_, since it passes the signal on or that is not known.
#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER, other = PTHREAD_COND_INITIALIZER;
volatile int ready[4], count;
int (*hook)(void);
extern void unknown(int *);

#define F __attribute__((noinline, noclone)) void
#define WAIT pthread_cond_wait(&changed, &lock)

static __attribute__((noinline)) int helper(void) { return pthread_cond_signal(&changed); }

F yes_only_waits(int n) { pthread_mutex_lock(&lock); while (!ready[0]) WAIT; pthread_mutex_unlock(&lock); }
F yes_of_an_argument(int n) { pthread_mutex_lock(&lock); while (!ready[n]) WAIT; pthread_mutex_unlock(&lock); }
F yes_signals_before(int n) { pthread_mutex_lock(&lock); pthread_cond_signal(&changed); while (!ready[0]) WAIT; pthread_mutex_unlock(&lock); }
F yes_signals_after(int n) { pthread_mutex_lock(&lock); while (!ready[0]) WAIT; helper(); hook(); pthread_cond_broadcast(&changed); pthread_mutex_unlock(&lock); }
F yes_counts_and_prints(int n) { pthread_mutex_lock(&lock); while (!ready[0]) { WAIT; printf("%d", count++); } pthread_mutex_unlock(&lock); }
F no_passes_on(int n) { pthread_mutex_lock(&lock); while (!ready[0]) { WAIT; if (!ready[0]) pthread_cond_signal(&changed); } pthread_mutex_unlock(&lock); }
F no_tells_all(int n) { pthread_mutex_lock(&lock); while (!ready[0]) { WAIT; pthread_cond_broadcast(&changed); } pthread_mutex_unlock(&lock); }
F no_by_a_helper(int n) { pthread_mutex_lock(&lock); while (!ready[0]) { WAIT; helper(); } pthread_mutex_unlock(&lock); }
F no_by_a_pointer(int n) { pthread_mutex_lock(&lock); while (!ready[0]) { WAIT; if (hook()) break; } pthread_mutex_unlock(&lock); }
F no_by_a_library(int n) { pthread_mutex_lock(&lock); while (!ready[0]) { WAIT; unknown(&n); } pthread_mutex_unlock(&lock); }
F no_in_the_next_round(int n) {
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!ready[0])
			WAIT;
		pthread_cond_signal(&other);
		pthread_mutex_unlock(&lock);
	}
}
F no_waits_once(int n) { pthread_mutex_lock(&lock); if (!ready[0]) WAIT; pthread_mutex_unlock(&lock); }

#define CALL(f) f(argc)
int main(int argc, char **argv) {
#include "calls.h"
	return 0;
}
