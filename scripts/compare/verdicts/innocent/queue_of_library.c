// Items are put on a list under a mutex by insque of the C library, whose stores nobody records, and taken from it under the mutex; whoever has taken one keeps it in its own record and changes it under no lock.
#include "turns.h"
#include <search.h>

struct item {
	struct item *next, *previous;
	long size;
};
struct worker {
	struct item *current;
	long sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item list = {&list, &list, 0};

static void *puts_in(void *unused) {
	for (long n = 1; n <= 4; n++) {
		struct item *i = malloc(sizeof *i);
		i->size = n;
		pthread_mutex_lock(&lock);
		insque(i, &list);
		pthread_mutex_unlock(&lock);
		rest(10);
	}
	return unused;
}

static void *takes_out(void *p) {
	struct worker *w = p;
	for (int n = 0; n < 8; n++) {
		rest(8);
		pthread_mutex_lock(&lock);
		w->current = list.next != &list ? list.next : NULL;
		if (w->current)
			remque(w->current);
		pthread_mutex_unlock(&lock);
		if (w->current) {
			w->sum += w->current->size;
			w->current->size = 0;
		}
	}
	return NULL;
}

int main(void) {
	struct worker *w = calloc(2, 4096);
	pthread_t s = start(puts_in, NULL), t = start(takes_out, &w[0]), u = start(takes_out, (char *)w + 4096);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return w->sum + ((struct worker *)((char *)w + 4096))->sum != 10;
}
