// Who wants an entry has the C library look it up in a tree under a mutex, by loads that are not recorded, keeps its address in its own record and reads it afterwards; an entry is complete before it is put there under the mutex.
#include "turns.h"
#include <search.h>

struct account {
	long key, size;
};
struct reader {
	struct account *current;
	long sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

static int compare(const void *a, const void *b) {
	long x = *(const long *)a, y = *(const long *)b;
	return (x > y) - (x < y);
}

static void *adds(void *unused) {
	for (long k = 1; k <= 4; k++) {
		struct account *e = malloc(sizeof *e);
		e->key = k;
		e->size = 10 * k;
		pthread_mutex_lock(&lock);
		tsearch(e, &tree, compare);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void *reads(void *p) {
	struct reader *r = p;
	rest(40);
	for (long k = 1; k <= 4; k++) {
		pthread_mutex_lock(&lock);
		struct account **found = tfind(&k, &tree, compare);
		r->current = found ? *found : NULL;
		pthread_mutex_unlock(&lock);
		if (r->current)
			r->sum += r->current->size;
	}
	return NULL;
}

int main(void) {
	struct reader *r = calloc(1, sizeof *r);
	pthread_t s = start(adds, NULL), t = start(reads, r);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return r->sum > 100;
}
