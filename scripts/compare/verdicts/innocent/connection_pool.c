// A connection is written under no lock and two connections' locks are nested in any order, but whoever took both out of the pool (under its lock, both or none) has them alone until it puts them back.
// watch: shared
#include "turns.h"

struct connection { pthread_mutex_t lock; long queries; int used; };
static struct connection connections[3];
static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static int idle = 3;

static struct connection *pick(int from) {
	for (int i = 0; i < 3; i++) {
		struct connection *c = &connections[(from + i) % 3];
		if (!c->used) {
			c->used = 1;
			idle--;
			return c;
		}
	}
	abort();
}

static void copy(struct connection *from, struct connection *to) {
	pthread_mutex_lock(&from->lock);
	pthread_mutex_lock(&to->lock);
	from->queries++;
	to->queries++;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *client(void *p) {
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&pool);
		while (idle < 2)
			pthread_cond_wait(&returned, &pool);
		struct connection *a = pick((int)(long)p + i), *b = pick((int)(long)p + 2 * i);
		pthread_mutex_unlock(&pool);
		copy(a, b);
		a->queries += 2;
		pthread_mutex_lock(&pool);
		a->used = b->used = 0;
		idle += 2;
		pthread_cond_broadcast(&returned);
		pthread_mutex_unlock(&pool);
		rest(1);
	}
	return NULL;
}

int main(void) {
	for (int i = 0; i < 3; i++)
		pthread_mutex_init(&connections[i].lock, NULL);
	pthread_t t = start(client, (void *)0), u = start(client, (void *)1);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
