// The newest settings are at the head of a list, where insque of the C library puts them under a mutex when they are complete; its stores are not recorded. A reader takes their address under the mutex and reads them afterwards.
#include "turns.h"
#include <search.h>

struct settings {
	struct settings *next, *previous;
	long limit;
};
struct reader {
	struct settings *current;
	long sum;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct settings list;

static void *publishes(void *unused) {
	struct settings *s = malloc(sizeof *s);
	s->limit = 20;
	pthread_mutex_lock(&lock);
	insque(s, &list);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *reads(void *p) {
	struct reader *r = p;
	rest(40);
	pthread_mutex_lock(&lock);
	r->current = list.next;
	pthread_mutex_unlock(&lock);
	r->sum += r->current->limit;
	return NULL;
}

int main(void) {
	struct settings *defaults = malloc(sizeof *defaults);
	defaults->limit = 10;
	insque(&list, NULL);
	insque(defaults, &list);
	struct reader *r = calloc(1, sizeof *r);
	pthread_t s = start(publishes, NULL), t = start(reads, r);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return r->sum != 10 && r->sum != 20;
}
