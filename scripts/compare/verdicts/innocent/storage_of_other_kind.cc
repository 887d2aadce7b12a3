// One piece of static storage holds two mutexes, then two read-write locks that are nested the other way round, then a semaphore that a third thread posts, but each life ends (joined) before the next begins.
// watch: shared
#include "turns.h"
#include <new>
#include <semaphore.h>
#include <thread>

alignas(16) static unsigned char storage[256];
static long work;

struct mutexes {
	pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
};
struct rwlocks {
	pthread_rwlock_t b = PTHREAD_RWLOCK_INITIALIZER, a = PTHREAD_RWLOCK_INITIALIZER;
};

static void first_life() {
	auto *m = new (storage) mutexes;
	auto f = [m] { nest(&m->a, &m->b); };
	std::thread t(f), u(f);
	t.join();
	u.join();
}

static void second_life() {
	auto *m = new (storage) rwlocks;
	auto f = [m] {
		pthread_rwlock_wrlock(&m->a);
		pthread_rwlock_wrlock(&m->b);
		work++;
		pthread_rwlock_unlock(&m->b);
		pthread_rwlock_unlock(&m->a);
	};
	std::thread t(f), u(f);
	t.join();
	u.join();
}

static void third_life() {
	auto *s = new (storage) sem_t;
	sem_init(s, 0, 0);
	std::thread t([s] { sem_wait(s); work++; }), u([s] { work++; sem_post(s); });
	t.join();
	u.join();
	sem_destroy(s);
}

int main() {
	for (int i = 0; i < 2; i++) {
		first_life();
		second_life();
		third_life();
	}
	return work != 8;
}
