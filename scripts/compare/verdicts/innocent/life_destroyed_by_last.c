// An object's mutex is destroyed and freed right after an unlock, while the other user has just left it, but its count, kept under that mutex, says who is the last.
// watch: uses of struct shared
#include "turns.h"

struct shared {
	pthread_mutex_t lock;
	int users;
	long uses;
};

static void *uses(void *p) {
	struct shared *s = p;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&s->lock);
		s->uses++;
		pthread_mutex_unlock(&s->lock);
		rest(2);
	}
	pthread_mutex_lock(&s->lock);
	int last = --s->users == 0;
	pthread_mutex_unlock(&s->lock);
	if (last) {
		pthread_mutex_destroy(&s->lock);
		free(s);
	}
	return NULL;
}

int main(void) {
	struct shared *s = malloc(sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	s->users = 2;
	s->uses = 0;
	pthread_t t = start(uses, s), u = start(uses, s);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
