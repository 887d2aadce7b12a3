// Requests place their locks and data in an arena at the same offsets and use them differently, but the arena is reset under its lock when nobody has anything in it.
// watch: value of struct request
#include "turns.h"

struct request { pthread_mutex_t a, b; long value; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char arena[1024];
static size_t used;
static int users;

static struct request *enter(void) {
	pthread_mutex_lock(&lock);
	struct request *r = (struct request *)(arena + used);
	used += sizeof *r;
	users++;
	pthread_mutex_unlock(&lock);
	*r = (struct request){PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0};
	return r;
}

static void leave(void) {
	pthread_mutex_lock(&lock);
	if (--users == 0)
		used = 0;
	pthread_mutex_unlock(&lock);
}

static void *forth(void *unused) {
	struct request *r = enter();
	nest(&r->a, &r->b);
	r->value = 1;
	leave();
	return unused;
}

static void *back(void *unused) {
	rest(20);
	struct request *r = enter();
	nest(&r->b, &r->a);
	r->value = 2;
	leave();
	return unused;
}

int main(void) {
	both(forth, back);
	return 0;
}
