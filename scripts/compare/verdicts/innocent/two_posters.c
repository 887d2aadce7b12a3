// A thread reads what two others wrote and either of them may have posted first, but it waits for two posts, which both must have made.
// watch: left, right
#include "turns.h"
#include <semaphore.h>

static sem_t arrived;
static long left, right;

static void *writes_left(void *unused) {
	left = 3;
	sem_post(&arrived);
	return unused;
}

static void *writes_right(void *unused) {
	rest(3);
	right = 4;
	sem_post(&arrived);
	return unused;
}

static void *adds(void *unused) {
	sem_wait(&arrived);
	rest(1);
	sem_wait(&arrived);
	left += right;
	return unused;
}

int main(void) {
	sem_init(&arrived, 0, 0);
	pthread_t t = start(adds, NULL);
	both(writes_left, writes_right);
	pthread_join(t, NULL);
	need(left == 7, "sum");
	sem_destroy(&arrived);
	return 0;
}
