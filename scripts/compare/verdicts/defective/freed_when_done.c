// Main frees a job as soon as it sees the atomic `done`, which the worker sets before it unlocks the job's lock: it may free what is locked.
//
// expect: misuse
// watch: result of struct job
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fortune.h"

struct job {
	pthread_mutex_t lock;
	atomic_int done;
	long result;
};

static void *works(void *p) {
	struct job *j = p;
	pthread_mutex_lock(&j->lock);
	j->result = 7;
	atomic_store(&j->done, 1);
	chance();
	pthread_mutex_unlock(&j->lock);
	return 0;
}

int main(void) {
	pthread_t t;
	struct job *j = calloc(1, sizeof *j);
	pthread_mutex_init(&j->lock, 0);
	pthread_create(&t, 0, works, j);
	while (!atomic_load(&j->done))
		later(1);
	long r = j->result;
	pthread_mutex_destroy(&j->lock);
	free(j);
	pthread_join(t, 0);
	return r != 7;
}
