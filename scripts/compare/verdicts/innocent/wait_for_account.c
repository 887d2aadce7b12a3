// A thread waits on a condition until the C library finds an account in a tree, whose loads nobody records; then it reads the account under no lock. It was complete before it was put there under the mutex, so that who does not find it waits.
#include "turns.h"
#include <search.h>

struct account {
	long key, size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void *tree;

static int compare(const void *a, const void *b) {
	long x = *(const long *)a, y = *(const long *)b;
	return (x > y) - (x < y);
}

static void *opens(void *unused) {
	struct account *a = malloc(sizeof *a);
	a->key = 1;
	a->size = 10;
	pthread_mutex_lock(&lock);
	tsearch(a, &tree, compare);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *pays(void *p) {
	long key = 1;
	struct account **found;
	rest(40);
	pthread_mutex_lock(&lock);
	while (!(found = tfind(&key, &tree, compare)))
		pthread_cond_wait(&changed, &lock);
	struct account *a = *found;
	pthread_mutex_unlock(&lock);
	*(long *)p += a->size;
	return NULL;
}

int main(void) {
	long sum = 0;
	pthread_t s = start(opens, NULL), t = start(pays, &sum);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return sum != 10;
}
