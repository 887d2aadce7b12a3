// Three equal workers wait on one condition, and each job is told by a signal, which any of them may take.
// watch: jobs
#include "turns.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *works(void *unused) {
	pthread_mutex_lock(&lock);
	while (jobs == 0)
		pthread_cond_wait(&given, &lock);
	jobs--;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void) {
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		t[i] = start(works, NULL);
	for (int i = 0; i < 3; i++) {
		rest(40);
		pthread_mutex_lock(&lock);
		jobs++;
		pthread_cond_signal(&given);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return jobs;
}
