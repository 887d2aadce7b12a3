// Locks that lie in all sorts of places, each pair of them taken in both orders.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct account {
	long balance;
	pthread_mutex_t mu;
};
typedef struct {
	pthread_mutex_t guard;
} ticket;
struct server {
	long hits;
	struct { long n; pthread_mutex_t lock; } per_cpu[4];
} server;
static struct { pthread_mutex_t *first, *second; } pair;

static void locked(pthread_mutex_t *m, pthread_mutex_t *n) {
	pthread_mutex_lock(m);
	pthread_mutex_lock(n);
	pthread_mutex_unlock(n);
	pthread_mutex_unlock(m);
}

__attribute__((noinline)) static void pass(pthread_mutex_t *m) { pthread_mutex_lock(m); }

static void *forth(void *p) {
	(void)p;
	locked(pair.first, pair.second);
	return 0;
}

static volatile int turn; // no order that anybody sees

static void *back(void *p) {
	(void)p;
	while (!turn)
		sched_yield();
	locked(pair.second, pair.first);
	return 0;
}

static void cross(pthread_mutex_t *a, pthread_mutex_t *b) {
	pthread_t s, t;
	pair.first = a, pair.second = b, turn = 0;
	pthread_create(&t, 0, back, 0);
	pthread_create(&s, 0, forth, 0);
	pthread_join(s, 0);
	turn = 1;
	pthread_join(t, 0);
}

__attribute__((noinline)) static struct account *account_new(void) {
	struct account *a = calloc(1, sizeof *a);
	pthread_mutex_init(&a->mu, 0);
	return a;
}

int main(void) {
	pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
	ticket *t = calloc(1, sizeof *t);
	struct account *a = account_new(), *b = account_new();
	pass(&t->guard);
	pthread_mutex_unlock(&t->guard);
	pthread_mutex_t *plain = malloc(sizeof *plain);
	pthread_mutex_init(plain, 0);
	pthread_mutex_lock(&mine);
	pthread_mutex_unlock(&mine);
	cross(&a->mu, &b->mu);
	cross(&server.per_cpu[2].lock, &t->guard);
	cross(plain, &mine);
	return 0;
}
