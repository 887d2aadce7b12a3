// The result of sem_timedwait is ignored: when the time is up, the thread reads what the other may be writing.
//
// expect: race answer
// watch: answer
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "fortune.h"

static sem_t ready;
static long answer, got;

static void *computes(void *unused) {
	chance();
	answer = 42;
	sem_post(&ready);
	return unused;
}

static void *waits(void *unused) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	later(1);
	sem_timedwait(&ready, &t);
	got = answer;
	return unused;
}

int main(void) {
	pthread_t t, u;
	sem_init(&ready, 0, 0);
	pthread_create(&t, 0, computes, 0);
	pthread_create(&u, 0, waits, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return got != 42;
}
