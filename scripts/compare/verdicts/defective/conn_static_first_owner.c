// The first of two clients of a static connection stamps it when it has put it back, where the second may have taken it.
//
// expect: race last_used
// watch: last_used of struct conn
#include <pthread.h>

#include "fortune.h"

static struct conn {
	int free;
	long last_used;
} one = {1, 0};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;

static int get(struct conn *c) {
	pthread_mutex_lock(&pool);
	int got = c->free;
	c->free = 0;
	pthread_mutex_unlock(&pool);
	return got;
}

static void put(struct conn *c) {
	pthread_mutex_lock(&pool);
	c->free = 1;
	pthread_mutex_unlock(&pool);
	chance();
	c->last_used = 7;
	pthread_mutex_lock(&pool);
	pthread_mutex_unlock(&pool);
}

static void *client(void *p) {
	later((int)(long)p);
	if (get(&one)) {
		one.last_used = 1;
		put(&one);
	}
	return 0;
}

int main(void) {
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, client, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return one.last_used != 7;
}
