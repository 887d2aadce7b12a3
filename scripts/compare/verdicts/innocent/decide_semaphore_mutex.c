// Under a semaphore that serves as a mutex the second thread learns that the first half is over; otherwise it does nothing.
// watch: data
// build: -O2
#include "halves.h"
#include <semaphore.h>

static sem_t mutex;
static long jobs_done, wanted = 1;

static void *first(void *unused) {
	early();
	sem_wait(&mutex);
	jobs_done++;
	sem_post(&mutex);
	return unused;
}

static void *second(void *unused) {
	rest(20);
	sem_wait(&mutex);
	long missing = wanted - jobs_done;
	sem_post(&mutex);
	if (missing == 0)
		late();
	return unused;
}

int main(void) {
	sem_init(&mutex, 0, 1);
	both(first, second);
	return 0;
}
