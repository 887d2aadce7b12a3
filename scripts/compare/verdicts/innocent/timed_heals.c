// A flusher is notified under no lock, so that a notification may be lost, but it sleeps 10 ms at most and then looks again at the atomic counter.
// watch: flushed
#include "turns.h"
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t dirty = PTHREAD_COND_INITIALIZER;
static atomic_int pages, stop;
static long flushed;

static void *flusher(void *unused) {
	for (;;) {
		int last = atomic_load(&stop);
		flushed += atomic_exchange(&pages, 0);
		if (last)
			return unused;
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 10000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_nsec -= 1000000000;
			t.tv_sec++;
		}
		pthread_mutex_lock(&lock);
		if (!atomic_load(&pages) && !atomic_load(&stop))
			pthread_cond_timedwait(&dirty, &lock, &t);
		pthread_mutex_unlock(&lock);
	}
}

int main(void) {
	pthread_t t = start(flusher, NULL);
	for (int i = 0; i < 5; i++, rest(4)) {
		atomic_fetch_add(&pages, 2);
		pthread_cond_signal(&dirty);
	}
	atomic_store(&stop, 1);
	pthread_cond_signal(&dirty);
	pthread_join(t, NULL);
	return flushed != 10;
}
