// A connection that main allocated is stamped by whoever took it out of the pool under its lock, and put back under the lock only after that: nobody else can have it meanwhile.
// watch: last_used of struct conn
#include "turns.h"

struct conn {
	struct conn *next;
	long last_used;
};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static struct conn *idle;

static struct conn *get(void) {
	pthread_mutex_lock(&pool);
	struct conn *c = idle;
	if (c)
		idle = c->next;
	pthread_mutex_unlock(&pool);
	return c;
}

static void put(struct conn *c, long stamp) {
	c->last_used = stamp;
	pthread_mutex_lock(&pool);
	c->next = idle;
	idle = c;
	pthread_mutex_unlock(&pool);
}

static void *client(void *p) {
	rest(40 * (long)p);
	struct conn *c = get();
	if (c)
		put(c, c->last_used + 1);
	return NULL;
}

int main(void) {
	idle = calloc(1, sizeof *idle);
	pthread_t t = start(client, (void *)0), u = start(client, (void *)1);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	long n = idle->last_used;
	free(idle);
	need(n == 1 || n == 2, "stamps");
	return 0;
}
