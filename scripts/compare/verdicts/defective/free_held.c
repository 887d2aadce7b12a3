// A session is freed while its lock is held: the thread that holds it unlocks what may be another
// object's memory.
//
// expect: misuse
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

struct session {
	long requests[30];
	pthread_mutex_t lock;
};

static void *serve(void *argument) {
	struct session *s = argument;
	pthread_mutex_lock(&s->lock);
	s->requests[0]++;
	later(2);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static void *expire(void *argument) {
	later(1);
	free(argument);
	return 0;
}

int main(void) {
	struct session *s = calloc(1, sizeof *s);
	pthread_t t, u;
	pthread_mutex_init(&s->lock, 0);
	pthread_create(&t, 0, serve, s);
	pthread_create(&u, 0, expire, s);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return 0;
}
