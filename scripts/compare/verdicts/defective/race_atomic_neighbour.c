// Beside an atomic number of users lies a plain total, which both threads add to before or after
// they count themselves: the atomic counter orders them only in the order in which this run came to
// it.
//
// expect: race total
// watch: pool.total
#include <pthread.h>
#include <stdatomic.h>

#include "fortune.h"

static struct {
	atomic_int users;
	int total;
} pool;

static void *first(void *unused) {
	chance();
	pool.total += 5;
	atomic_fetch_add_explicit(&pool.users, 1, memory_order_relaxed);
	return unused;
}

static void *second(void *unused) {
	later(1);
	atomic_fetch_add_explicit(&pool.users, 1, memory_order_relaxed);
	pool.total += 6;
	return unused;
}

int main(void) {
	pthread_t t, u;
	pthread_create(&t, 0, first, 0);
	pthread_create(&u, 0, second, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
	return pool.total != 11;
}
