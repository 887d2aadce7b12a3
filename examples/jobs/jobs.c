// A queue of jobs. The main thread makes jobs, prepares them without a lock
// (nobody else knows of them yet) and puts them into the queue; a worker takes
// each out, works on it and counts in it how far it is. That count is written
// without a lock, and a supervisor reads it, without a lock too, from the list
// of all jobs. In this run the supervisor looks when all is done.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct job {
	struct job *next, *all;
	int input;
	int state; // prepared before it is in the queue, then guarded by lock
	int done;  // the race
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct job *queue, *all;
static int closed;

static void milliseconds(long n) {
	struct timespec t = {n / 1000, n % 1000 * 1000000};
	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void submit(int input) {
	struct job *j = calloc(1, sizeof *j);
	if (!j)
		abort();
	j->input = input;
	j->state = 1;
	j->done = 0;
	pthread_mutex_lock(&lock);
	j->next = queue;
	queue = j;
	j->all = all;
	all = j;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

static struct job *take(void) {
	pthread_mutex_lock(&lock);
	while (!queue && !closed)
		pthread_cond_wait(&more, &lock);
	struct job *j = queue;
	if (j) {
		queue = j->next;
		j->state++;
	}
	pthread_mutex_unlock(&lock);
	return j;
}

__attribute__((noinline)) static void work(struct job *j) {
	for (int i = 0; i < j->input; i++)
		j->done++;
}

static void *worker(void *unused) {
	struct job *j;
	while ((j = take()))
		work(j);
	return unused;
}

__attribute__((noinline)) static int progress(void) {
	int n = 0;
	pthread_mutex_lock(&lock);
	struct job *first = all;
	pthread_mutex_unlock(&lock);
	for (struct job *j = first; j; j = j->all)
		n += j->done;
	return n;
}

static void *supervisor(void *unused) {
	milliseconds(300);
	printf("%d done\n", progress());
	return unused;
}

int main(void) {
	pthread_t w, s;
	if (pthread_create(&w, NULL, worker, NULL) || pthread_create(&s, NULL, supervisor, NULL))
		return 1;
	for (int i = 1; i <= 4; i++)
		submit(i);
	milliseconds(500);
	pthread_mutex_lock(&lock);
	closed = 1;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	pthread_join(w, NULL);
	pthread_join(s, NULL);
	for (struct job *j = all, *next; j; j = next) {
		next = j->all;
		free(j);
	}
	return 0;
}
