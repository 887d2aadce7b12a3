// The timer's callback runs under no lock and main changes the same data under none, but cancel waits under the timer's lock until no callback runs and none will.
// watch: ticks
#include "turns.h"
#include <errno.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
static int cancelled, running;
static long ticks;

static void *timer(void *unused) {
	pthread_mutex_lock(&lock);
	while (!cancelled) {
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 5000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_nsec -= 1000000000;
			t.tv_sec++;
		}
		if (pthread_cond_timedwait(&wake, &lock, &t) != ETIMEDOUT || cancelled)
			continue;
		running = 1;
		pthread_mutex_unlock(&lock);
		ticks++;
		pthread_mutex_lock(&lock);
		running = 0;
		pthread_cond_broadcast(&idle);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

static void cancel(void) {
	pthread_mutex_lock(&lock);
	cancelled = 1;
	pthread_cond_signal(&wake);
	while (running)
		pthread_cond_wait(&idle, &lock);
	pthread_mutex_unlock(&lock);
}

int main(void) {
	pthread_t t = start(timer, NULL);
	rest(40);
	cancel();
	ticks += 1000;
	pthread_join(t, NULL);
	return ticks < 1000;
}
