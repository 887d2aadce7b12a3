// Blocks of an arena belong to other threads, and hold other locks in another order, in each round, but the arena is reset between two barriers, by one thread.
// watch: uses of struct job
#include "turns.h"
#include <stdatomic.h>

struct job { pthread_mutex_t first, second; long uses; };
static struct job arena[2];
static atomic_int used;
static pthread_barrier_t end, begin;

static struct job *allocate(void) {
	struct job *j = &arena[atomic_fetch_add(&used, 1)];
	pthread_mutex_init(&j->first, NULL);
	pthread_mutex_init(&j->second, NULL);
	j->uses = 0;
	return j;
}

static void *works(void *p) {
	long me = (long)p;
	for (int round = 0; round < 4; round++) {
		struct job *j = allocate();
		if (me == 0)
			nest(&j->first, &j->second);
		else
			nest(&j->second, &j->first);
		j->uses++;
		pthread_mutex_destroy(&j->first);
		pthread_mutex_destroy(&j->second);
		pthread_barrier_wait(&end);
		if (me == 0)
			atomic_store(&used, 0);
		pthread_barrier_wait(&begin);
	}
	return NULL;
}

int main(void) {
	pthread_barrier_init(&end, NULL, 2);
	pthread_barrier_init(&begin, NULL, 2);
	pthread_t t = start(works, (void *)0), u = start(works, (void *)1);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
