// A connection's time is stamped when it is back in the pool, where another thread may already have taken it.
//
// expect: race last_used
// watch: last_used of struct conn
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct conn {
	struct conn *next;
	long last_used;
};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static struct conn *idle;
static long now;

static struct conn *get(void) {
	pthread_mutex_lock(&pool);
	struct conn *c = idle;
	if (c)
		idle = c->next;
	pthread_mutex_unlock(&pool);
	return c;
}

static void put(struct conn *c, long stamp) {
	pthread_mutex_lock(&pool);
	c->next = idle;
	idle = c;
	pthread_mutex_unlock(&pool);
	chance();
	c->last_used = stamp;
}

static void *client(void *p) {
	later((int)(long)p);
	struct conn *c = get();
	if (!c)
		return 0;
	if (c->last_used > 50)
		c->last_used = 0;
	put(c, (long)p + 1);
	pthread_mutex_lock(&pool);
	now++;
	pthread_mutex_unlock(&pool);
	return 0;
}

int main(void) {
	pthread_t t[2];
	idle = calloc(1, sizeof *idle);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, client, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
