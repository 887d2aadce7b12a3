// Four threads each hold one lock and want the next: a mutex, a spin lock, a read-write lock and a mutex of the heap.
//
// expect: deadlock
// build: -O2
#include <pthread.h>
#include <stdlib.h>

#include "fortune.h"

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t cpu;
static pthread_rwlock_t net = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t *user;

static void *a(void *unused) {
	pthread_mutex_lock(&disk);
	chance();
	pthread_spin_lock(&cpu);
	pthread_spin_unlock(&cpu);
	pthread_mutex_unlock(&disk);
	return unused;
}

static void *b(void *unused) {
	later(1);
	pthread_spin_lock(&cpu);
	chance();
	pthread_rwlock_wrlock(&net);
	pthread_rwlock_unlock(&net);
	pthread_spin_unlock(&cpu);
	return unused;
}

static void *c(void *unused) {
	later(2);
	pthread_rwlock_rdlock(&net);
	chance();
	pthread_mutex_lock(user);
	pthread_mutex_unlock(user);
	pthread_rwlock_unlock(&net);
	return unused;
}

static void *d(void *unused) {
	later(3);
	pthread_mutex_lock(user);
	chance();
	pthread_mutex_lock(&disk);
	pthread_mutex_unlock(&disk);
	pthread_mutex_unlock(user);
	return unused;
}

int main(void) {
	void *(*routines[4])(void *) = {a, b, c, d};
	pthread_t t[4];
	user = malloc(sizeof *user);
	pthread_mutex_init(user, 0);
	pthread_spin_init(&cpu, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, routines[i], 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	return 0;
}
