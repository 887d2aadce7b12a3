// A job nests its two locks in the opposite order of a connection at the same addresses, but the connection was freed before malloc gave that memory to the job.
#include "turns.h"
#include <malloc.h>

struct conn { pthread_mutex_t input, output; char buffer[3000]; };
struct job { pthread_mutex_t state, queue; char text[3000]; };

static void *serves(void *unused) {
	own_cache();
	rest(40);
	struct conn *c = malloc(sizeof *c);
	pthread_mutex_init(&c->input, NULL);
	pthread_mutex_init(&c->output, NULL);
	nest(&c->input, &c->output);
	pthread_mutex_destroy(&c->output);
	pthread_mutex_destroy(&c->input);
	free(c);
	return unused;
}

static void *works(void *unused) {
	own_cache();
	rest(120);
	struct job *j = malloc(sizeof *j);
	pthread_mutex_init(&j->state, NULL);
	pthread_mutex_init(&j->queue, NULL);
	nest(&j->queue, &j->state);
	pthread_mutex_destroy(&j->queue);
	pthread_mutex_destroy(&j->state);
	free(j);
	return unused;
}

int main(void) {
	mallopt(M_ARENA_MAX, 1);
	both(serves, works);
	return 0;
}
