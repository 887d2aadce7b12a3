// A wait gives up after a millisecond and the thread then reads what another writes, but it tries again until it has the permit.
// watch: answer
#include "turns.h"
#include <errno.h>
#include <semaphore.h>

static sem_t ready;
static long answer;

static void *computes(void *unused) {
	rest(12);
	answer = 42;
	sem_post(&ready);
	return unused;
}

static void *polls(void *unused) {
	int tries = 0;
	for (;;) {
		struct timespec t;
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 1000000;
		if (t.tv_nsec >= 1000000000) {
			t.tv_nsec -= 1000000000;
			t.tv_sec++;
		}
		if (!sem_timedwait(&ready, &t))
			break;
		need(errno == ETIMEDOUT || errno == EINTR, "sem_timedwait");
		tries++;
	}
	need(answer++ == 42, "answer");
	return unused;
}

int main(void) {
	sem_init(&ready, 0, 0);
	both(computes, polls);
	return answer != 43;
}
