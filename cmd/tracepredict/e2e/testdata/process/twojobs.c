/*
 * Two files have a type of one name each. Two threads write a field of an object
 * of the other file's type; with GUARDED under a mutex.
 */
#include <pthread.h>
#include <stdlib.h>

struct Job {
	int id, state;
};

void *other_job(void);
void other_set(void *job, long state);

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void set(struct Job *j, int state) { j->state = state; }

static void *worker(void *job)
{
#ifdef GUARDED
	pthread_mutex_lock(&m);
#endif
	other_set(job, 1L << 40);
#ifdef GUARDED
	pthread_mutex_unlock(&m);
#endif
	return NULL;
}

int main(void)
{
	struct Job *own = malloc(sizeof *own);
	void *job = other_job();
	pthread_t t, u;

	set(own, 3);
	pthread_create(&t, NULL, worker, job);
	pthread_create(&u, NULL, worker, job);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	pthread_mutex_destroy(&m);
	free(job);
	free(own);
	return 0;
}
