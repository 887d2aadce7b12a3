// Two semaphores with one permit by sem_init are taken in opposite orders, but this sem_init is the program's own: it doubles what it is given.
#include "turns.h"

struct sem {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned permits;
};
static struct sem a, b;

__attribute__((noinline)) int sem_init(struct sem *s, int shared, unsigned value) {
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->permits = 2 * value;
	return shared;
}

__attribute__((noinline)) int sem_wait(struct sem *s) {
	pthread_mutex_lock(&s->lock);
	while (!s->permits)
		pthread_cond_wait(&s->changed, &s->lock);
	s->permits--;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

__attribute__((noinline)) int sem_post(struct sem *s) {
	pthread_mutex_lock(&s->lock);
	s->permits++;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static void *uses(void *swap) {
	struct sem *x = swap ? &b : &a, *y = swap ? &a : &b;
	rest(swap ? 15 : 0);
	sem_wait(x);
	sem_wait(y);
	sem_post(y);
	sem_post(x);
	return NULL;
}

int main(void) {
	sem_init(&a, 0, 1);
	sem_init(&b, 0, 1);
	pthread_t s = start(uses, NULL), t = start(uses, &a);
	pthread_join(s, NULL);
	pthread_join(t, NULL);
	return a.permits != 2;
}
