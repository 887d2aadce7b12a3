// One mutex is destroyed twice, it seems, and initialised by a call once, but the second is another object's in the same memory, and zeros are a valid mutex here.
#include "turns.h"
#include <string.h>

struct session {
	pthread_mutex_t lock;
	long requests;
};

static void drop(struct session *s) {
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int main(void) {
	own_cache();
	struct session *first = malloc(sizeof *first);
	pthread_mutex_init(&first->lock, NULL);
	drop(first);
	struct session *second = kept(malloc(sizeof *second));
	memset(second, 0, sizeof *second);
	drop(second);
	return 0;
}
