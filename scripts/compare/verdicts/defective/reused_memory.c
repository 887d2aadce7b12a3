// A connection is freed and a pair of jobs takes its memory: the connection's lock was used by main
// alone, the jobs' locks are nested in opposite orders by two threads.
//
// expect: deadlock
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct connection {
	pthread_mutex_t lock;
	long sent[5];
};

struct jobs {
	pthread_mutex_t front, back;
};

static void *forth(void *argument) {
	struct jobs *j = argument;
	pthread_mutex_lock(&j->front);
	chance();
	pthread_mutex_lock(&j->back);
	pthread_mutex_unlock(&j->back);
	pthread_mutex_unlock(&j->front);
	return 0;
}

static void *back(void *argument) {
	struct jobs *j = argument;
	later(1);
	pthread_mutex_lock(&j->back);
	chance();
	pthread_mutex_lock(&j->front);
	pthread_mutex_unlock(&j->front);
	pthread_mutex_unlock(&j->back);
	return 0;
}

int main(void) {
	pthread_t t, u;
	struct connection *c = malloc(sizeof *c);
	pthread_mutex_init(&c->lock, 0);
	pthread_mutex_lock(&c->lock);
	c->sent[0] = 1;
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
	struct jobs *j = malloc(sizeof *j);
	pthread_mutex_init(&j->front, 0);
	pthread_mutex_init(&j->back, 0);
	pthread_create(&t, 0, forth, j);
	pthread_create(&u, 0, back, j);
	pthread_join(t, 0);
	pthread_join(u, 0);
	free(j);
	return 0;
}
