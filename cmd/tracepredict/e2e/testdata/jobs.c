// Locks in the elements of arrays in the heap, taken by index.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct job {
	pthread_mutex_t mu; // first, as the code adds nothing for it
	long done;
};
struct shard {
	long hits;
	pthread_mutex_t lock;
	char name[56];
};
struct table {
	struct shard *shards;
	struct { long n; pthread_mutex_t guard; } slots[4];
};

static struct job *jobs;
static volatile int at = 2;

static void both(pthread_mutex_t *m, pthread_mutex_t *n)
{
	pthread_mutex_lock(m);
	pthread_mutex_lock(n);
	pthread_mutex_unlock(n);
	pthread_mutex_unlock(m);
}

__attribute__((noinline)) static void use_jobs(int i, long k)
{
	pthread_mutex_lock(&jobs[i].mu);
	pthread_mutex_lock(&jobs[k + 1].mu);
	pthread_mutex_unlock(&jobs[k + 1].mu);
	pthread_mutex_unlock(&jobs[i].mu);
}

__attribute__((noinline)) static void use_table(struct table *t, unsigned i, unsigned long k)
{
	both(&t->shards[i].lock, &t->slots[k].guard);
}

__attribute__((noinline)) static void use_back(struct table *t, unsigned i, unsigned long k)
{
	both(&t->slots[k].guard, &t->shards[i].lock);
}

static void *forth(void *t)
{
	use_jobs(1, 1);
	use_table(t, at, at);
	return 0;
}

static volatile int turn; // no order that anybody sees

static void *back(void *t)
{
	while (!turn)
		sched_yield();
	use_jobs(2, 0);
	use_back(t, at, at);
	return 0;
}

int main(void)
{
	struct table *t = calloc(1, sizeof *t);
	pthread_t a, b;

	jobs = calloc(4, sizeof *jobs);
	t->shards = calloc(4, sizeof *t->shards);
	pthread_create(&a, 0, forth, t);
	pthread_create(&b, 0, back, t);
	pthread_join(a, 0);
	turn = 1;
	pthread_join(b, 0);
	return 0;
}
