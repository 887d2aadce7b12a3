// Tasks of a pool write their results under no lock and main reads them under none, but each is counted done under the lock when it is written.
// watch: shared
#include "turns.h"

enum { TASKS = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static int queued, taken, done, stop;
static long results[TASKS];

static void *works(void *unused) {
	pthread_mutex_lock(&lock);
	for (;;) {
		while (taken == queued && !stop)
			pthread_cond_wait(&given, &lock);
		if (taken == queued)
			break;
		int task = taken++;
		pthread_mutex_unlock(&lock);
		results[task] = task * 10L;
		pthread_mutex_lock(&lock);
		if (++done == TASKS)
			pthread_cond_signal(&finished);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t s = start(works, NULL), t = start(works, NULL);
	for (int i = 0; i < TASKS; i++, rest(1)) {
		pthread_mutex_lock(&lock);
		queued++;
		pthread_cond_signal(&given);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	while (done < TASKS)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
	long sum = 0;
	for (int i = 0; i < TASKS; i++)
		sum += results[i];
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_broadcast(&given);
	pthread_mutex_unlock(&lock);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return sum != 280;
}
