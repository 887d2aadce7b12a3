// Two workers that do little but lock, as those of a cache server do: locks of
// buckets by a hash, in one of four a list's lock inside, a worker's own
// statistics, now and then a lock that all share. It finds no lock that another
// order would block at. Usage: cache ROUNDS, of about seven events each.

#include <pthread.h>
#include <stdlib.h>

enum { buckets = 2048, lists = 64, workers = 2 };

static pthread_mutex_t bucket[buckets], list[lists], all = PTHREAD_MUTEX_INITIALIZER;

struct worker {
	pthread_mutex_t lock;
	pthread_t thread;
	unsigned long random, count;
	char apart[64];
};

static struct worker worker[workers];
static long rounds;

static unsigned long draw(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void count(pthread_mutex_t *m, struct worker *w)
{
	pthread_mutex_lock(m);
	w->count++;
	pthread_mutex_unlock(m);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; i < rounds; i++) {
		unsigned long r = draw(w);
		pthread_mutex_t *b = &bucket[r % buckets];

		pthread_mutex_lock(b);
		if ((r >> 20) % 4 == 0)
			count(&list[(r >> 24) % lists], w);
		pthread_mutex_unlock(b);
		count(&w->lock, w);
		count(&w->lock, w);
		if ((r >> 32) % 8 == 0)
			count(&all, w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < buckets; i++)
		pthread_mutex_init(&bucket[i], NULL);
	for (int i = 0; i < lists; i++)
		pthread_mutex_init(&list[i], NULL);
	for (int i = 0; i < workers; i++) {
		pthread_mutex_init(&worker[i].lock, NULL);
		worker[i].random = 88172645463325252ul + 7777 * i;
		pthread_create(&worker[i].thread, NULL, work, &worker[i]);
	}
	for (int i = 0; i < workers; i++)
		pthread_join(worker[i].thread, NULL);
	return 0;
}
